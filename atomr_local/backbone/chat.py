"""Chat messages to tokens, with the model's own template, and nothing in a message read as markup.

A passage may contain "<|im_end|>" or a whole forged turn. The template is therefore rendered with placeholders in
place of the contents. Only markup that the template itself wrote becomes control tokens; the text between two
control tokens, contents included, is tokenised as plain text. For contents without markers this gives the tokens of
the whole text tokenised at once.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from atomr_local.backbone.engine import Engine
from atomr_local.backbone.protocol import Message, Prompt
from atomr_local.errors import ModelError

# For a model file without a template. Its markers are control tokens if the vocabulary has them, else plain text.
CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n'}}"
    "{% endfor %}{{ '<|im_start|>assistant\n' }}"
)
CHATML_END = "<|im_end|>"


@dataclass(frozen=True, slots=True)
class EncodedPrompt:
    """A prompt as token ids; the first `static` of them are its static part."""

    tokens: tuple[int, ...]
    static: int


@dataclass(frozen=True, slots=True)
class _Content:
    """The content of message `index`, where the template put it."""

    index: int
    text: str


class ChatEncoder:
    """Encodes prompts for one engine; usable from any thread while the engine is open.

    Attributes:
        stop: texts that end a turn and that the model has no token for.
    """

    def __init__(self, engine: Engine, name: str) -> None:
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        self._engine = engine
        self._name = name
        self._bos: int = engine.api.llama_vocab_bos(engine.vocab)
        template = engine.metadata("tokenizer.chat_template")
        self.stop = () if template else (CHATML_END,)
        try:
            self._formatter: Any = Jinja2ChatFormatter(
                template or CHATML,
                eos_token=engine.token_text(engine.api.llama_vocab_eos(engine.vocab)),
                bos_token=engine.token_text(self._bos),
            )
        except Exception as error:  # a template is code of whoever made the file: anything can be wrong with it
            raise self._refused(error) from error
        self._markup = lru_cache(maxsize=64)(self._split_markup)
        self._plain = lru_cache(maxsize=64)(lambda text: tuple(engine.tokenize(text, special=False)))

    def plain(self, text: str) -> tuple[int, ...]:
        """Tokens of a text without markup."""
        return tuple(self._plain(text))

    def encode(self, prompt: Prompt) -> EncodedPrompt:
        """Tokens of the prompt with the assistant's turn opened.

        Raises:
            ModelError: the model's template cannot render these messages.
        """
        tokens: list[int] = []
        engine = self._engine
        runs = list(self._runs(prompt.messages))
        if engine.api.llama_vocab_get_add_bos(engine.vocab) and runs[:1] != [self._bos]:
            tokens.append(self._bos)
        static: int | None = None
        for run in runs:
            if isinstance(run, int):
                tokens.append(run)
                continue
            if static is None:
                before = _until(run, len(prompt.static))
                if len(before) < len(run):
                    static = len(tokens) + self._shared(_joined(before), _joined(run))
            tokens.extend(self._plain(_joined(run)))
        return EncodedPrompt(tuple(tokens), len(tokens) if static is None else static)

    def _shared(self, beginning: str, text: str) -> int:
        """How many tokens of `text` its `beginning` settles."""
        # The last token of the beginning may merge with what follows, so it does not count.
        known = self._plain(beginning)[:-1]
        count = 0
        for one, other in zip(known, self._plain(text), strict=False):
            if one != other:
                break
            count += 1
        return count

    def _runs(self, messages: Sequence[Message]) -> Iterator[int | list[str | _Content]]:
        """The prompt as control tokens and, between them, runs of plain text."""
        run: list[str | _Content] = []
        for part in self._render(messages):
            for piece in (part,) if isinstance(part, _Content) else self._markup(part):
                if isinstance(piece, int):
                    if run:
                        yield run
                    yield piece
                    run = []
                else:
                    run.append(piece)
        if run:
            yield run

    def _render(self, messages: Sequence[Message]) -> list[str | _Content]:
        """The template's output as markup and contents, in order."""
        key = secrets.token_hex(8)
        # The white space shows whether the template strips contents; no markup has a vertical tab beside them.
        slots = [f"\v{key}x{index}x\v" for index in range(len(messages))]
        turns = [{"role": message.role, "content": slot} for message, slot in zip(messages, slots, strict=True)]
        try:
            text = self._apply(turns)
        except ModelError:
            if len(turns) < 2 or turns[0]["role"] != "system":
                raise
            # Some templates know no system role: the instructions then open the first turn.
            merged = {"role": turns[1]["role"], "content": turns[0]["content"] + "\n\n" + turns[1]["content"]}
            text = self._apply([merged, *turns[2:]])
        parts: list[str | _Content] = []
        seen: set[int] = set()
        end = 0
        for match in re.finditer(f"(\v?){key}x(\\d+)x(\v?)", text):
            index = int(match[2])
            content = messages[index].content
            content = content if match[1] else content.lstrip()
            content = content if match[3] else content.rstrip()
            parts += [text[end : match.start()], _Content(index, content)]
            seen.add(index)
            end = match.end()
        if len(seen) < len(messages):
            raise self._refused(
                f"it leaves out a message of the role {messages[min(set(range(len(messages))) - seen)].role}"
            )
        return [*parts, text[end:]]

    def _apply(self, turns: list[dict[str, str]]) -> str:
        try:
            # Reasoning models would otherwise open with a monologue that no grammar allows.
            return str(self._formatter(messages=turns, enable_thinking=False).prompt)
        except Exception as error:
            raise self._refused(error) from error

    def _split_markup(self, markup: str) -> tuple[int | str, ...]:
        """What the template wrote, as control tokens and plain text."""
        api, vocab = self._engine.api, self._engine.vocab
        control: dict[str, tuple[int, int]] = {}
        for token in self._engine.tokenize(markup, special=True):
            attributes = api.llama_vocab_get_attr(vocab, token)
            if attributes & (api.LLAMA_TOKEN_ATTR_CONTROL | api.LLAMA_TOKEN_ATTR_UNKNOWN):
                control[self._engine.token_text(token)] = (token, attributes)
        if not control:
            return (markup,)
        pieces: list[int | str] = []
        strip_next = False
        longest_first = sorted(control, key=len, reverse=True)
        for text in re.split("(" + "|".join(map(re.escape, longest_first)) + ")", markup):
            if text not in control:
                if text := text.lstrip() if strip_next else text:
                    pieces.append(text)
                strip_next = False
                continue
            token, attributes = control[text]
            if attributes & api.LLAMA_TOKEN_ATTR_LSTRIP and pieces and isinstance(pieces[-1], str):
                pieces[-1] = pieces[-1].rstrip()
            strip_next = bool(attributes & api.LLAMA_TOKEN_ATTR_RSTRIP)
            pieces.append(token)
        return tuple(pieces)

    def _refused(self, reason: object) -> ModelError:
        return ModelError(
            f"the chat template in {self._name} cannot be used: {reason}",
            hint="Choose an instruction-tuned model (see `atomr models list`).",
        )


def _until(run: list[str | _Content], index: int) -> list[str | _Content]:
    """What of the run stands before the content of message `index` or a later one."""
    for position, part in enumerate(run):
        if isinstance(part, _Content) and part.index >= index:
            return run[:position]
    return run


def _joined(run: list[str | _Content]) -> str:
    return "".join(part.text if isinstance(part, _Content) else part for part in run)
