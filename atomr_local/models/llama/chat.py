"""Encodes chat messages with the model's template. Nothing inside a message is read as markup.

A passage may contain "<|im_end|>" or a whole forged turn. The template is therefore rendered with placeholders in
place of the contents. Only markup that the template itself wrote becomes control tokens; the text between two
control tokens, contents included, is tokenised as plain text. For contents without markers this gives the tokens of
the whole text tokenised at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import secrets
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from atomr_local.errors import ModelError
from atomr_local.models.llama import template_worker
from atomr_local.models.llama.engine import Engine
from atomr_local.models.llama.prefix_cache import common_prefix
from atomr_local.models.protocol import Message, Prompt
from atomr_local.system.sandbox import Limits, Sandbox

# Renders chat templates: known ones directly, all others in a process with limits.
#
# A template is a program of whoever made the model file. Jinja's sandbox keeps it from Python, not from looping for
# ever or filling the memory. What it makes of messages depends on their roles alone, for contents are placeholders, so
# each sequence of roles is rendered once.

# For a model file without a template. Its markers are control tokens if the vocabulary has them, else plain text.
CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n'}}"
    "{% endfor %}{{ '<|im_start|>assistant\n' }}"
)
# SHA-256 of the starter's template, which has been read and renders in no time: no process is started for it.
_KNOWN = frozenset(
    ("872be49dbb638044ad01b60388f48d469ff2980e5f0dccdc22ec907db54d0788", hashlib.sha256(CHATML.encode()).hexdigest())
)
_CPU_SECONDS = 2
_SECONDS = 12  # a busy machine may take seconds to start Python
_MEMORY = 1 << 30
_CHARACTERS = 1 << 16


class TemplateError(Exception):
    """A template cannot be rendered; the text says why."""


class TemplateLimitError(TemplateError):
    """A template takes too long or too much; another try would as well."""


class ChatTemplate:
    """A template with the texts of the vocabulary's first and last token."""

    def __init__(self, template: str, *, eos: str, bos: str) -> None:
        self._task = {"template": template, "eos": eos, "bos": bos}
        self._known = hashlib.sha256(template.encode("utf-8", "surrogatepass")).hexdigest() in _KNOWN

    def render(self, turns: Sequence[dict[str, str]]) -> str:
        """The template's output for these turns, each a `role` and a `content`, with the assistant's turn opened.

        Raises:
            TemplateError: it cannot be read or fails, takes too long or too much memory, or writes too much.
        """
        task = {**self._task, "turns": list(turns), "characters": _CHARACTERS}
        found = template_worker.outcome(task) if self._known else self._in_a_process(task)
        if "limit" in found:
            raise TemplateLimitError(found["limit"])
        if "text" not in found:
            raise TemplateError(str(found.get("error", "it gave nothing"))[:300])
        return str(found["text"])

    def _in_a_process(self, task: dict[str, object]) -> dict[str, str]:
        limits = Limits(memory=_MEMORY, processor=_CPU_SECONDS, one_thread=True)
        with contextlib.closing(Sandbox(f"{template_worker.__file__}:serve", lambda: task, limits)) as child:
            try:
                child.launch()
            except OSError as error:
                raise TemplateError(f"the process that renders it cannot be started: {error.strerror}") from error
            found = child.receive(_SECONDS)
            if isinstance(found, dict):
                return found
            end = child.ended()
        if end.out_of_time or end.status == -signal.SIGKILL:
            raise TemplateLimitError("it takes too long to render")
        raise TemplateError(f"rendering it failed (exit status {end.status})")


CHATML_END = "<|im_end|>"
_MOST_REPEATED = 4  # times that a template writes a message


@dataclass(frozen=True, slots=True)
class EncodedPrompt:
    """A prompt as token ids.

    Attributes:
        static: how many of the first tokens are its static part.
        continued: how many of the first tokens are those of the call that it continues from; 0: it continues from none.
    """

    tokens: tuple[int, ...]
    static: int
    continued: int = 0


@dataclass(frozen=True, slots=True)
class _Slot:
    """Where the content of message `index` goes, and whether the white space at its ends stays."""

    index: int
    keeps_start: bool
    keeps_end: bool


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
        self._engine = engine
        self._name = name
        self._bos: int = engine.api.llama_vocab_bos(engine.vocab)
        template = engine.metadata("tokenizer.chat_template")
        self.stop = () if template else (CHATML_END,)
        self._template = ChatTemplate(
            template or CHATML,
            eos=engine.token_text(engine.api.llama_vocab_eos(engine.vocab)),
            bos=engine.token_text(self._bos),
        )
        self._skeletons: dict[tuple[str, ...], tuple[str | _Slot, ...]] = {}
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
        encoded = self._encode(prompt)
        if not prompt.continued:
            return encoded
        # A template may write an earlier turn otherwise than the one that it opens: what is alike can be reused.
        earlier = self._encode(replace(prompt, continued=())).tokens
        return replace(encoded, continued=common_prefix(earlier, encoded.tokens))

    def _encode(self, prompt: Prompt) -> EncodedPrompt:
        tokens: list[int] = []
        engine = self._engine
        runs = list(self._runs(prompt.messages))
        if engine.api.llama_vocab_get_add_bos(engine.vocab) and self._bos >= 0 and runs[:1] != [self._bos]:
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
        return common_prefix(self._plain(beginning)[:-1], self._plain(text))

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
        roles = tuple(message.role for message in messages)
        skeleton = self._skeletons.get(roles)
        if skeleton is None:
            skeleton = self._skeletons[roles] = self._skeleton(roles)
        parts: list[str | _Content] = []
        for part in skeleton:
            if isinstance(part, str):
                parts.append(part)
                continue
            content = messages[part.index].content
            content = content if part.keeps_start else content.lstrip()
            parts.append(_Content(part.index, content if part.keeps_end else content.rstrip()))
        return parts

    def _skeleton(self, roles: tuple[str, ...]) -> tuple[str | _Slot, ...]:
        """The template's output for messages of these roles: markup, and where which content goes."""
        key = secrets.token_hex(8)
        # The white space shows whether the template strips contents; no markup has a vertical tab beside them.
        slots = [f"\v{key}x{index}x\v" for index in range(len(roles))]
        turns = [{"role": role, "content": slot} for role, slot in zip(roles, slots, strict=True)]
        try:
            try:
                text = self._template.render(turns)
            except TemplateLimitError:
                raise
            except TemplateError:
                if len(turns) < 2 or turns[0]["role"] != "system":
                    raise
                # Some templates know no system role: the instructions then open the first turn.
                merged = {"role": turns[1]["role"], "content": turns[0]["content"] + "\n\n" + turns[1]["content"]}
                text = self._template.render([merged, *turns[2:]])
        except TemplateError as error:
            raise self._refused(error) from error
        parts: list[str | _Slot] = []
        end = 0
        for match in re.finditer(f"(\v?){key}x(\\d+)x(\v?)", text):
            parts += [text[end : match.start()], _Slot(int(match[2]), bool(match[1]), bool(match[3]))]
            end = match.end()
        found = [part.index for part in parts if isinstance(part, _Slot)]
        for index, role in enumerate(roles):
            if index not in found:
                raise self._refused(f"it leaves out a message of the role {role}")
        if len(found) > _MOST_REPEATED * len(roles):
            raise self._refused("it repeats the messages")
        return (*parts, text[end:])

    def _split_markup(self, markup: str) -> tuple[int | str, ...]:
        """The template's markup as control tokens and plain text."""
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
    """The part of the run before the content of message `index` or a later one."""
    for position, part in enumerate(run):
        if isinstance(part, _Content) and part.index >= index:
            return run[:position]
    return run


def _joined(run: list[str | _Content]) -> str:
    return "".join(part.text if isinstance(part, _Content) else part for part in run)
