"""A model, an embedder and a span reader whose replies are recorded once and then replayed, so that no model runs.

While recording, what is not known yet is asked of the real one; what comes back is rounded first, so that a run that
records sees what a run that replays will see.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
import heapq
import json
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from atomr_local.errors import ModelError
from atomr_local.indexing.embedding.span_reader import SpanVerdict
from atomr_local.models.catalog.find import starter_embedder_path
from atomr_local.models.protocol import Backbone, BackboneInfo, Finish, Generation, GenerationRequest, Prompt, Token
from frozen_parts.cases import both, read_lines, write_lines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from atomr_local.indexing.embedding.embedder import Embedder, TokenCounts
    from atomr_local.indexing.embedding.span_reader import SpanReader

_PLACES = 4
_ALIKE, _COMPARED = 12, 1500  # prompts that are compared letter by letter, and how much of each
_LETTERS = 4  # of a token, where their number is not recorded
_LEVELS = 7  # of a vector's numbers, on either side of 0
_DIMENSIONS = 384
IDENTITY = "recorded vectors"


Messages = Sequence[tuple[str, str]]


class NotRecorded(ModelError):
    """The program asked for what nobody has asked before."""


def _digested(text: str) -> str:
    """A digest of each line."""
    return "\n".join(
        f"#{hashlib.sha256(line.encode('utf-8', 'replace')).hexdigest()[:10]}" for line in text.split("\n")
    )


def digest(value: Any) -> str:
    """SHA-256 over a value, with a part of it that is enough to tell all recorded ones apart."""
    text = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:24]


def messages_of(prompt: Prompt) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in prompt.messages]


def deciding(request: GenerationRequest) -> dict[str, Any]:
    """All of a request that decides the reply, but the prompt."""
    output = request.output
    schema = getattr(output, "json_schema", None)
    return {
        "task": request.task,
        "max_tokens": request.max_tokens,
        "output": type(output).__name__ if output is not None else None,
        "grammar": output.gbnf if output is not None and schema is None else getattr(output, "gbnf", None),
        "json_schema": schema,
        "stop": list(request.stop),
        "temperature": request.temperature,
        "seed": request.seed,
        "watch": list(request.watch),
        "watch_after": request.watch_after,
    }


@dataclass
class Replies:
    """The recorded replies of one model.

    Attributes:
        file: where they are kept.
        digested: of prompts and grammars only digests are kept, line by line: they hold texts that are not ours.
        info: what the model is.
        replies: by the digest of the request: prompt, what else decides, and the reply.
        counts: tokens of prompts, by the digest of the prompt.
        verdicts: of the span reader, by the digest of what it read.
        used: the digests that were asked for in this run; the others are not kept.
    """

    file: Path
    digested: bool = False
    info: dict[str, Any] = field(default_factory=dict)
    replies: dict[str, dict[str, Any]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    verdicts: dict[str, list[Any] | None] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, file: Path, *, digested: bool = False) -> Replies:
        found = cls(file, digested)
        texts: list[str] = []
        for kind, *record in read_lines(file):
            if kind == "text":
                texts.append(record[0])
            elif kind == "info":
                found.info = record[0]
            elif kind == "reply":
                key, messages, rest, made = record
                prompt = [(role, texts[number]) for role, number in messages]
                others = {name: texts[value[0]] if isinstance(value, list) and name == "grammar" else value
                          for name, value in rest.items()}  # fmt: skip
                found.replies[key] = {"messages": prompt, "rest": others, "made": made}
            elif kind == "count":
                found.counts[record[0]] = record[1]
            elif kind == "verdict":
                found.verdicts[record[0]] = record[1]
        return found

    def put(self, key: str, messages: Messages, rest: Mapping[str, Any], made: Sequence[Any]) -> None:
        """Record a reply."""
        kept = {"messages": self._kept(messages), "rest": self._kept_rest(rest), "made": list(made)}
        self.replies[key] = kept

    def _kept(self, messages: Messages) -> list[tuple[str, str]]:
        return [(role, _digested(text) if self.digested else text) for role, text in messages]

    def _kept_rest(self, rest: Mapping[str, Any]) -> dict[str, Any]:
        return {name: _digested(value) if self.digested and name == "grammar" and value else value
                for name, value in rest.items()}  # fmt: skip

    def write(self, *, all_of_them: bool = False) -> None:
        """Keep what was used, or all of them while there is more to come."""
        texts: dict[str, int] = {}
        records: list[list[Any]] = [["info", self.info]]

        def number(text: str) -> int:
            if text not in texts:
                texts[text] = len(texts)
                records.append(["text", text])
            return texts[text]

        def wanted(key: str) -> bool:
            return all_of_them or key in self.used

        for key in sorted(filter(wanted, self.replies)):
            reply = self.replies[key]
            messages = [[role, number(text)] for role, text in reply["messages"]]
            rest = {name: [number(value)] if name == "grammar" and value else value
                    for name, value in reply["rest"].items()}  # fmt: skip
            records.append(["reply", key, messages, rest, reply["made"]])
        records += [["count", key, self.counts[key]] for key in sorted(filter(wanted, self.counts))]
        records += [["verdict", key, self.verdicts[key]] for key in sorted(filter(wanted, self.verdicts))]
        write_lines(self.file, records)

    def _alike(self, asked: Sequence[str]) -> list[dict[str, Any]]:
        """The recorded requests that have most lines of this prompt."""
        own = set(asked)

        def likeness(reply: Mapping[str, Any]) -> float:
            lines = set(_prompt_lines(reply["messages"]))
            return len(own & lines) / len(own | lines)

        return heapq.nlargest(_ALIKE, self.replies.values(), key=likeness)

    def nearest(self, messages: Messages, rest: Mapping[str, Any]) -> str:
        """Where a request differs from the recorded one that is most like it, in words."""
        if not self.replies:
            return "nothing is recorded of this model"
        told, asked = _prompt_lines(messages), _prompt_lines(self._kept(messages))
        rest = self._kept_rest(rest)

        def likeness(reply: Mapping[str, Any]) -> tuple[float, int]:
            same = sum(reply["rest"].get(name) == value for name, value in rest.items())
            return _share(_prompt_lines(reply["messages"]), asked), same

        best = max(self._alike(asked), key=likeness)
        recorded = _prompt_lines(best["messages"])
        for at, (one, other) in enumerate(zip(recorded, asked, strict=False), 1):
            if one != other:
                shown = both("(a text that is not kept)" if self.digested else one, told[at - 1])
                return "\n".join([f"a prompt that is not recorded, line {at} of the nearest one", *shown])
        if len(recorded) != len(asked):
            at = min(len(recorded), len(asked))
            longer, said = (recorded, "recorded") if len(recorded) > len(asked) else (told, "now")
            return f"a prompt that is not recorded; line {at + 1} is there only in the one {said}: {longer[at][:160]}"
        for name, value in rest.items():
            if best["rest"].get(name) != value:
                shown = both(str(best["rest"].get(name)), str(value))
                return "\n".join([f"a recorded prompt with another {name}", *shown])
        return "a request that is not recorded, though the prompt is"


def _share(recorded: Sequence[str], asked: Sequence[str]) -> float:
    """How alike two prompts are in the lines that only one of them has."""

    def own(lines: Sequence[str], others: Sequence[str]) -> str:
        known = set(others)
        return "\n".join(line for line in lines if line not in known)[:_COMPARED]

    one, other = own(recorded, asked), own(asked, recorded)
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio() if one or other else 1.0


def _prompt_lines(messages: Sequence[tuple[str, str]]) -> list[str]:
    return [f"{role}: {line}" for role, text in messages for line in text.split("\n")]


class ReplayingBackbone:
    """A :class:`Backbone` that gives recorded replies.

    Args:
        open_real: loads the model that is asked for what is not recorded; None: nobody is asked.

    Attributes:
        unknown: the first request that is not recorded, in words; "" if all are.
        uncounted: the first prompt of which the number of tokens is not recorded, likewise.
    """

    def __init__(self, record: Replies, open_real: Callable[[], Backbone] | None = None) -> None:
        self._record = record
        self._open_real = open_real
        self._real: Backbone | None = None
        self._lock = threading.RLock()
        self.unknown = self.uncounted = ""
        self.asked = 0

    @property
    def info(self) -> BackboneInfo:
        if not self._record.info:
            found = self._opened().info
            self._record.info = {
                "name": found.name, "adapter": found.adapter, "context_tokens": found.context_tokens,
            }  # fmt: skip
        return BackboneInfo(**self._record.info)

    def count_tokens(self, prompt: Prompt) -> int:
        messages = messages_of(prompt)
        key = digest(messages)
        with self._lock:
            self._record.used.add(key)
            if key not in self._record.counts and self._open_real is None:
                # The request that it is counted for tells more: only part of a prompt may be counted.
                if not self.uncounted:
                    self.uncounted = f"the tokens are counted of {self._record.nearest(messages, {})}"
                return sum(len(text) for _, text in messages) // _LETTERS
            if key not in self._record.counts:
                self._record.counts[key] = self._opened().count_tokens(prompt)
            return self._record.counts[key]

    def generate(self, request: GenerationRequest) -> Generation:
        if request.cancellation is not None:
            request.cancellation.check()
        messages, rest = messages_of(request.prompt), deciding(request)
        key = digest([messages, rest])
        with self._lock:
            self._record.used.add(key)
            if key not in self._record.replies:
                self._require_real(messages, rest)
                made = kept_reply(self._opened().generate(_quiet(request)))
                self._record.put(key, messages, rest, made)
                self.asked += 1
            reply = reply_of(self._record.replies[key]["made"])
        if request.on_text is not None:
            for piece in _pieces(reply):
                request.on_text(piece)
        return reply

    def close(self) -> None:
        """Nothing: :meth:`free` closes the model, which serves several assistants."""

    def free(self) -> None:
        if self._real is not None:
            self._real.close()
            self._real = None

    def _require_real(self, messages: Sequence[tuple[str, str]], rest: Mapping[str, Any]) -> None:
        if self._open_real is None:
            if not self.unknown:
                self.unknown = self._record.nearest(messages, rest)
            raise NotRecorded(self.unknown)

    def _opened(self) -> Backbone:
        with self._lock:
            if self._real is None:
                if self._open_real is None:
                    raise NotRecorded("nothing is recorded of this model")
                self._real = self._open_real()
            return self._real


def _quiet(request: GenerationRequest) -> GenerationRequest:
    """The same request, of which nobody hears before it is answered."""
    return replace(request, on_text=None, cancellation=None)


def kept_reply(made: Generation) -> list[Any]:
    """What is recorded of a reply."""
    tokens = [[token.text, _rounded(token.logprob)] for token in made.tokens]
    return [made.text, tokens, made.finish, made.prompt_tokens, [_rounded(one) for one in made.watched]]


def reply_of(kept: Sequence[Any]) -> Generation:
    """The reply that was recorded; how long it took, and what the prefix cache knew, are not its own."""
    text, tokens, finish, prompt_tokens, watched = kept
    return Generation(
        text,
        tuple(Token(str(piece), _number(logprob)) for piece, logprob in tokens),
        cast("Finish", finish),
        prompt_tokens,
        prompt_tokens,
        0.0,
        tuple(map(_number, watched)),
    )


def _rounded(number: float) -> float | None:
    return None if math.isnan(number) else round(number, _PLACES)


def _number(kept: float | None) -> float:
    return math.nan if kept is None else kept


def _pieces(reply: Generation) -> list[str]:
    pieces = [token.text for token in reply.tokens if token.text]
    return pieces if "".join(pieces) == reply.text else [reply.text] if reply.text else []


class Vectors:
    """Recorded vectors of texts, in few bits; several parts share them."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.known: dict[str, str] = dict(read_lines(file))
        self._before = len(self.known)

    def write(self) -> None:
        if len(self.known) != self._before:
            write_lines(self._file, sorted(self.known.items()))
            self._before = len(self.known)


class ReplayingEmbedder:
    """An :class:`Embedder` that gives recorded vectors; the tokens of words are counted by the real tokenizer.

    Attributes:
        unknown: the first text that has no recorded vector; "" if all have one.
    """

    identity = IDENTITY
    dimensions = _DIMENSIONS

    def __init__(self, vectors: Vectors, open_real: Callable[[], Embedder] | None = None) -> None:
        self._vectors = vectors
        self._open_real = open_real
        self._real: Embedder | None = None
        self._tokens: TokenCounts | None = None
        self._lock = threading.Lock()
        self.unknown = ""

    @property
    def tokens(self) -> TokenCounts | None:
        from atomr_local.indexing.embedding.embedder import token_counts

        if self._tokens is None:
            self._tokens = token_counts(starter_embedder_path())
        return self._tokens

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        keys = [digest(text) for text in texts]
        with self._lock:
            missing = [text for key, text in zip(keys, texts, strict=True) if key not in self._vectors.known]
            if missing and self._open_real is None:
                self.unknown = self.unknown or f"a text without a recorded vector: {missing[0][:160]!r}"
                raise NotRecorded(self.unknown)
            if missing:
                self._ask_real(list(dict.fromkeys(missing)))
            found = [_unpacked(self._vectors.known[key]) for key in keys]
        return np.stack(found) if found else np.empty((0, _DIMENSIONS), dtype=np.float32)

    def _ask_real(self, texts: list[str]) -> None:
        if self._real is None:
            assert self._open_real is not None
            self._real = self._open_real()
        for text, vector in zip(texts, self._real.encode(texts), strict=True):
            self._vectors.known[digest(text)] = _packed(vector)


def _packed(vector: NDArray[np.float32]) -> str:
    """Four bits for each number, after the largest one is made 1."""
    levels = np.rint(vector / np.abs(vector).max() * _LEVELS).astype(np.int16) + _LEVELS
    return base64.b85encode((levels[0::2] * 16 + levels[1::2]).astype(np.uint8).tobytes()).decode("ascii")


def _unpacked(packed: str) -> NDArray[np.float32]:
    pairs = np.frombuffer(base64.b85decode(packed), dtype=np.uint8).astype(np.int16)
    levels = np.empty(2 * len(pairs), dtype=np.float32)
    levels[0::2], levels[1::2] = pairs // 16 - _LEVELS, pairs % 16 - _LEVELS
    return levels / np.float32(math.sqrt(float((levels * levels).sum())))


class ReplayingSpanReader:
    """The span reader, with recorded verdicts."""

    def __init__(self, record: Replies, open_real: Callable[[], SpanReader] | None = None) -> None:
        self._record = record
        self._open_real = open_real
        self._real: SpanReader | None = None
        self._lock = threading.Lock()
        self.unknown = ""

    def judge(self, question: str, passages: Sequence[str], answers: Sequence[str]) -> SpanVerdict | None:
        key = digest(["verdict", question, list(passages), list(answers)])
        with self._lock:
            self._record.used.add(key)
            if key not in self._record.verdicts:
                if self._open_real is None:
                    self.unknown = self.unknown or f"the span reader is asked what is not recorded: {question[:160]!r}"
                    raise NotRecorded(self.unknown)
                if self._real is None:
                    self._real = self._open_real()
                self._record.verdicts[key] = _kept_verdict(self._real.judge(question, passages, answers))
            kept = self._record.verdicts[key]
        return None if kept is None else SpanVerdict(kept[0], tuple(kept[1]), kept[2])


def _kept_verdict(verdict: SpanVerdict | None) -> list[Any] | None:
    if verdict is None:
        return None
    answers = [None if one is None else round(float(one), _PLACES) for one in verdict.answers]
    return [round(float(verdict.answerable), _PLACES), answers, verdict.best]
