"""Chat messages as a question with the turns before it, and an answer as a message with its citations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from atomr_local.mcp_server.results import page_address
from atomr_local.reasoning.confidence.words import NOT_FOUND
from atomr_local.reasoning.conversation import Conversation, EarlierTurn, turn_of
from atomr_local.reasoning.trace.schema import EvidenceTrace, Trace
from atomr_local.sanitize import sanitize, sanitize_line
from atomr_local.serving.refused import Refused
from atomr_local.settings.schema import Settings
from atomr_local.sources.place_words import place_words

_LONGEST_TURN = 4000  # characters
_MOST_TURNS = 20


class Part(BaseModel):
    """A part of a message; only texts can be read."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)
    type: str
    text: str = ""


class Message(BaseModel):
    """A message of the chat."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)
    role: str = Field(max_length=40)
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        """
        Raises:
            Refused: it holds something else than text.
        """
        if not isinstance(self.content, list):
            return self.content or ""
        if any(part.type != "text" for part in self.content):
            raise Refused(400, "only texts can be read", hint="Send no images, sounds or files.", param="messages")
        return "\n".join(part.text for part in self.content)


def asked_of(
    messages: Sequence[Message], recent: Iterable[Trace], settings: Settings
) -> tuple[str, Conversation | None]:
    """The last message as the question, and the questions and answers before it.

    Args:
        recent: traces of earlier answers. A turn that is one of them is known with its entities.

    Raises:
        Refused: the last message is not the user's.
    """
    if not messages or messages[-1].role != "user":
        raise Refused(400, "the last message is not the user's", param="messages")
    known = {(_key(trace.question), _key(content_of(trace)[0])): trace for trace in recent}
    turns: list[EarlierTurn] = []
    identifier, asked = "", ""
    for message in messages[:-1]:
        if message.role == "user":
            asked = message.text
        elif message.role == "assistant" and asked:
            trace = known.get((_key(asked), _key(message.text)))
            if trace is not None and not turns:
                identifier = trace.conversation or trace.id
            turns.append(turn_of(trace) if trace is not None else _unknown_turn(asked, message.text, settings))
            asked = ""
    return messages[-1].text, Conversation(identifier, tuple(turns[-_MOST_TURNS:])) if turns else None


def _unknown_turn(question: str, answer: str, settings: Settings) -> EarlierTurn:
    # Nobody knows what such an answer was read in: it may be a private index.
    private = settings.privacy.indexes
    return EarlierTurn(
        "",
        sanitize_line(question)[:_LONGEST_TURN],
        sanitize_line(answer)[:_LONGEST_TURN],
        settings={"text_index": private} if private else {},
    )


def _key(text: str) -> str:
    return " ".join(sanitize(text).split())


@dataclass(frozen=True, slots=True)
class Citation:
    """A mark in the text and what it stands for."""

    start: int
    end: int
    item: EvidenceTrace

    def annotation(self, server: str, trace: str) -> dict[str, Any]:
        """The citation as OpenAI's API has it. Evidence without an address of its own leads to the page that shows it.

        Args:
            server: its address, with a slash at the end.
            trace: id of the answer's trace.
        """
        url, place = self.item.locator.get("url"), place_words(self.item.locator)
        return {
            "type": "url_citation",
            "url_citation": {
                "start_index": self.start,
                "end_index": self.end,
                "title": sanitize_line(f"{self.item.title} ({place})" if place else self.item.title),
                "url": sanitize_line(url) if isinstance(url, str) else page_address(server, trace, self.item.id),
            },
        }


def content_of(trace: Trace) -> tuple[str, list[Citation]]:
    """The answer as a text with marks, [1] and so on, or why there is none; and what the marks stand for."""
    if trace.status == "unknown" and trace.reason:
        lines = [f"{NOT_FOUND.capitalize()}: {sanitize_line(trace.reason)}"]
        return "\n".join([*lines, *(f"→ {sanitize_line(item)}" for item in trace.advice)]), []
    text = sanitize(trace.answer).strip()
    root = next((node for node in trace.nodes if node.parent is None), None)
    by_id = {item.id: item for item in trace.evidence}
    citations = []
    for number, name in enumerate((name for name in (root.cited if root else ()) if name in by_id), 1):
        mark = f" [{number}]"
        citations.append(Citation(len(text) + 1, len(text) + len(mark), by_id[name]))
        text += mark
    return text, citations


def usage_of(trace: Trace) -> dict[str, Any]:
    """The tokens of all model calls; those that came from the prefix cache count as cached."""
    totals = trace.totals
    return {
        "prompt_tokens": totals.prompt_tokens,
        "completion_tokens": totals.generated_tokens,
        "total_tokens": totals.prompt_tokens + totals.generated_tokens,
        "prompt_tokens_details": {"cached_tokens": max(0, totals.prompt_tokens - totals.evaluated_tokens)},
    }
