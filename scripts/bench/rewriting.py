#!/usr/bin/env python3
"""Follow-up questions: does the program put them so that they stand alone, as a person would?

    scripts/bench/rewriting.py --out DIR [--data ../shared/data] [--only ours canard] [--limit N] [--table]
                               [-- KEY=VALUE ...]

Asked are follow-ups that nothing was trained on: of our own dialogues (scripts/training_questions/dialogues.jsonl)
those that their words keep out of training, and the last tenth of CANARD's (DATA/dialogue/canard_dev.jsonl), if it is
there. The earlier turns are given as a conversation of the program has them: each question as rightly understood, and
its answer; CANARD's first question names the page that the dialogue is about. What is run is the program's own step,
with the model and adapter of the settings; KEY=VALUE is a setting. No index is opened.

DIR/SET is resumed where it stopped; --limit is of each set, a random part, always the same. Prints Markdown tables,
also in DIR/rewriting.md, over the questions that leave something out, those that stand alone as they are typed, and
all; "as typed" is what doing nothing would come to:

- EM and F1: exact match and token F1 against the reference, normalised as answers are;
- names kept: of the names and numbers of the reference, how many the rewriting has. A capital letter makes a name,
  except in the first word;
- other names: rewritings with a name or number that neither the reference nor the question as typed has;
- right: every name kept, no other one, and a token F1 of at least 0.6;
- refused: neither the model's version counted nor could grammar do without it. Asked, the program would ask back.

    scripts/bench/rewriting.py --out runs/rewriting --limit 100
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from atomr_lab.evaluation.datasets import DatasetRecord, Prediction, read_records
from atomr_lab.evaluation.metrics import Score, mean_interval, score_answer
from atomr_lab.evaluation.report import RIGHT_F1
from atomr_lab.evaluation.runs import RunDirectory, write_file, writing
from question_sets import changed_by

from atomr_local.assistant.session import Session
from atomr_local.errors import AtomrError, InputError
from atomr_local.models.catalog.find import find_adapter, find_model
from atomr_local.reasoning.conversation import Conversation, EarlierTurn
from atomr_local.reasoning.planning.examples import ExampleLibrary
from atomr_local.reasoning.planning.planner import Planner
from atomr_local.reasoning.trace.events import Event, ModelCalled
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.settings.schema import Settings, load_settings
from atomr_local.strategies.protocol import QuestionContext, understand
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.files import open_regular
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tree.validation import Limits

ROOT = Path(__file__).resolve().parents[2]
OURS = ROOT / "scripts" / "training_questions" / "dialogues.jsonl"
CANARD = Path("dialogue", "canard_dev.jsonl")
_TRAINED = 0.9  # of CANARD's dialogues, from the first on (scripts/training/data/reading.py)
_KEPT_OUT = 10  # one of so many of our own dialogues is not trained on (scripts/training/splits.py)
NOTHING = "Unknown"
_SHOWN = 25
_ROWS = ("leaves something out", "stands alone", "all")
_HEAD = ("questions", "n", "", "EM", "F1", "names kept", "other names", "right", "refused", "seconds")


@dataclass(frozen=True)
class FollowUp:
    """A follow-up question.

    Attributes:
        turns: what was asked before, oldest first.
        reference: how a person would put the question so that it stands alone.
    """

    id: str
    turns: tuple[EarlierTurn, ...]
    typed: str
    reference: str


@dataclass(frozen=True)
class Line:
    """One turn of our own dialogues.

    Attributes:
        meant: the question so that it stands alone.
        answer: "Unknown" where there is none to be found, "" where nothing is asked.
    """

    typed: str
    meant: str
    answer: str


def held_out(path: Path) -> Iterator[tuple[DatasetRecord, list[Line]]]:
    """Our own dialogues that are kept out of training.

    Raises (while iterating):
        InputError: the file cannot be read, or holds something else.
    """
    for record in read_records(path):
        lines = record.fields.get("turns")
        if not isinstance(lines, list) or not lines or not all(isinstance(line, dict) for line in lines):
            raise record.error('"turns" is no list of turns')
        turns = [_line_of(DatasetRecord(record.path, record.line, line)) for line in lines]
        digest = hashlib.blake2b(turns[0].typed.encode(), digest_size=8).digest()
        if int.from_bytes(digest) % _KEPT_OUT == 0:
            yield record, turns


def _line_of(turn: DatasetRecord) -> Line:
    answer = turn.text("answer", empty=True) if "answer" in turn.fields else ""
    return Line(turn.text("question"), turn.text("understood"), answer)


def ours(path: Path) -> list[FollowUp]:
    """The follow-ups of our own dialogues that are kept out of training.

    Raises:
        InputError: the file cannot be read, or holds something else.
    """
    found = []
    for record, lines in held_out(path):
        turns = [_turn(place, line.meant, line.answer) for place, line in enumerate(lines)]
        for place, line in enumerate(lines[1:], 1):
            found.append(FollowUp(f"{record.line}.{place}", tuple(turns[:place]), line.typed, line.meant))
    return found


def canard(path: Path) -> list[FollowUp]:
    """The follow-ups of CANARD's last tenth (Elgohary et al., 2019).

    Raises:
        InputError: the file cannot be read, or holds something else.
    """
    records = list(read_records(path))
    names = list(dict.fromkeys(record.text("dialog") for record in records))
    held = set(names[int(len(names) * _TRAINED) :])
    found, meant = [], dict[tuple[str, str], str]()
    for record in records:
        dialog, typed, reference = (record.text(key) for key in ("dialog", "question", "rewrite"))
        history = record.fields.get("history")
        if not isinstance(history, list) or len(history) % 2 or not all(isinstance(text, str) for text in history):
            raise record.error('"history" is no list of questions and answers by turns')
        meant[dialog, typed] = reference
        if dialog not in held or not history:
            continue
        questions = [meant.get((dialog, question), question) for question in map(str, history[::2])]
        questions[0] = f"{questions[0].rstrip('?')} ({record.text('page')})?"
        turns = [_turn(place, *told) for place, told in enumerate(zip(questions, history[1::2], strict=True))]
        found.append(FollowUp(f"{dialog}.{record.line}", tuple(turns), typed, reference))
    return found


def _turn(place: int, question: str, answer: str) -> EarlierTurn:
    return EarlierTurn(f"turn{place + 1}", sanitize_line(question), "" if answer == NOTHING else sanitize_line(answer))


SETS: dict[str, Callable[[Path], list[FollowUp]]] = {"ours": ours, "canard": canard}


class Rewriter:
    """The program's step from a follow-up question to one that stands alone."""

    def __init__(self, parts: Session) -> None:
        """`parts`: with a model that is loaded."""
        assert parts.backbone is not None
        limits = parts.settings.limits
        self._parts = parts
        self._backbone = parts.backbone
        self._planner = Planner(
            parts.backbone,
            ExampleLibrary.shipped(),
            Limits(nodes=limits.nodes, depth=limits.depth, fan_out=limits.fan_out),
        )

    def rewrite(self, asked: FollowUp) -> tuple[dict[str, Any], dict[str, Any]]:
        """The follow-up as a line of predictions, and its trace.

        Raises:
            ModelError: the model failed.
        """
        written: list[str] = []

        def see(event: Event) -> None:
            if isinstance(event, ModelCalled):
                written.append(event.completion.text)

        recorder = Recorder(asked.typed, "rewriting", {}, see)
        tools = QuestionContext(
            self._backbone, {}, self._planner, recorder, Cancellation(), self._parts.settings,
            skills=self._parts.skills, conversation=Conversation("turn1", asked.turns),
        )  # fmt: skip
        started = time.perf_counter()
        understood = understand(asked.typed, tools, given=None, rewrites=self._parts.skills.rewrites, asks_back=False)
        seconds = time.perf_counter() - started
        line = {
            "id": asked.id, "question": asked.typed, "predicted": understood, "gold": [asked.reference],
            "written": sanitize_line(" ".join(written)), "refused": bool(recorder.trace.warnings),
            "took_from": recorder.trace.took_from, "seconds": round(seconds, 3),
        }  # fmt: skip
        turns = [{"question": turn.question, "answer": turn.answer} for turn in asked.turns]
        return line, {"id": asked.id, "turns": turns, "warnings": recorder.trace.warnings}


def describe(settings: Settings, questions: Path) -> dict[str, Any]:
    """What decides the rewritings, to be compared when a run is resumed.

    Raises:
        InputError: a file cannot be read.
        ModelError: there is no such model or adapter.
    """
    shown = settings.model_dump(mode="json")["endpoint"]  # without what is secret in the address
    used: dict[str, Any] = {"endpoint": shown["url"], "served": shown["model"]}
    if not settings.endpoint.url:
        model = find_model(settings.model)
        adapter = find_adapter(settings.adapter, model)
        used = {"model": _digest(model), "adapter": _digest(adapter) if adapter is not None else None}
    weights, seed = settings.llm.weights, settings.llm.seed
    return {"schema": "rewriting/1", "questions": _digest(questions), **used, "weights": weights, "seed": seed}


def _digest(path: Path) -> str:
    try:
        with open_regular(path) as stream:
            return f"{path.name} {hashlib.file_digest(stream, 'sha256').hexdigest()}"
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def ask(asked: Sequence[FollowUp], rewriter: Callable[[], Rewriter], out: Path, description: dict[str, Any]) -> None:
    """Rewrite what is not rewritten yet.

    Raises:
        AtomrError: the model failed, or the directory holds another run.
    """
    with writing(out, description) as writer:
        waiting = [item for item in asked if item.id not in writer.done]
        for number, item in enumerate(waiting, 1 + len(asked) - len(waiting)):
            line, trace = rewriter().rewrite(item)
            writer.add(line, trace)
            print(f"[{number}/{len(asked)}] {sanitize_line(item.typed)} → {line['predicted']}", file=sys.stderr)


def report(found: Sequence[tuple[str, Sequence[Prediction]]]) -> str:
    """The tables of all sets, and rewritings that are not right."""
    rows, wrong = [], list[Prediction]()
    for name, items in found:
        alone = [_score(item.question, item).em == 1 for item in items]
        open_ = [item for item, stands in zip(items, alone, strict=True) if not stands]
        closed = [item for item, stands in zip(items, alone, strict=True) if stands]
        for label, group in zip(_ROWS, (open_, closed, items), strict=True):
            if group and (group is not items or (open_ and closed)):
                rows += [[f"{name}, {label}", str(len(group)), *cells] for cells in (_rewritten(group), _typed(group))]
        wrong += [item for item in items if not _right(item.predicted, item)][:_SHOWN]
    table = "".join(f"| {' | '.join(line)} |\n" for line in (_HEAD, ["---"] * len(_HEAD), *rows))
    return "\n".join(part for part in (table, "".join(map(_shown, wrong))) if part)


def _rewritten(items: Sequence[Prediction]) -> list[str]:
    refused = sum(bool(item.fields.get("refused")) for item in items)
    seconds = [float(item.fields.get("seconds") or 0) for item in items]
    return ["rewritten", *_figures([(i.predicted, i) for i in items]), str(refused), f"{statistics.fmean(seconds):.2f}"]


def _typed(items: Sequence[Prediction]) -> list[str]:
    return ["as typed", *_figures([(item.question, item) for item in items]), "", ""]


def _figures(items: Sequence[tuple[str, Prediction]]) -> Iterator[str]:
    scores = [_score(text, item) for text, item in items]
    yield _interval([score.em for score in scores])
    yield _interval([score.f1 for score in scores])
    named = sum(len(_names(_reference(item), "")) for _, item in items)
    lost = sum(len(_names(_reference(item), text)) for text, item in items)
    yield f"{named - lost} of {named}"
    yield str(sum(bool(_others(text, item)) for text, item in items))
    yield _interval([float(_right(text, item)) for text, item in items])


def _interval(values: Sequence[float]) -> str:
    told = asdict(mean_interval(values))
    return f"{told['value']:.1f} [{told['low']:.1f}, {told['high']:.1f}]"


def _reference(item: Prediction) -> str:
    return item.gold[0]


def _score(text: str, item: Prediction) -> Score:
    return score_answer(text, item.gold)


def _names(text: str, known: str) -> tuple[str, ...]:
    """Names and numbers of the text that `known` does not hold, as the program tells them."""
    return Conversation().unfounded(known, text)


def _others(text: str, item: Prediction) -> tuple[str, ...]:
    return _names(text, f"{_reference(item)} {item.question}")


def _right(text: str, item: Prediction) -> bool:
    if _score(text, item).em == 1:
        return True
    whole = not _names(_reference(item), text) and not _others(text, item)
    return whole and _score(text, item).f1 >= RIGHT_F1


def _shown(item: Prediction) -> str:
    written = item.fields.get("written")
    refused = f" (refused: {written})" if item.fields.get("refused") and written else ""
    told = f"{item.question} → {item.predicted}{refused}; reference: {_reference(item)}"
    return f"- {sanitize_line(told)}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--only", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--limit", type=int, help="of each set")
    parser.add_argument("--table", action="store_true", help="only report what is there")
    parser.add_argument("options", nargs="*", metavar="KEY=VALUE", help="settings")
    given = parser.parse_args(arguments)
    if given.limit is not None and given.limit < 1:
        parser.error("--limit is at least 1")
    parts: Session | None = None
    loaded: list[Rewriter] = []
    try:
        settings = load_settings(**changed_by(given.options))
        files = {"ours": OURS, "canard": given.data / CANARD}
        if given.only == list(SETS) and not files["canard"].exists():
            print(f"{files['canard']} is not there: our own dialogues alone", file=sys.stderr)
            files.pop("canard")
        parts = Session(settings)

        def rewriter() -> Rewriter:
            if not loaded:
                parts.load((), lambda _: None)
                if not parts.skills.rewrites:
                    raise InputError(
                        "this adapter has not learnt to rewrite follow-up questions", hint="Name another: adapter=NAME."
                    )
                loaded.append(Rewriter(parts))
            return loaded[0]

        found = []
        for name in (name for name in SETS if name in given.only and name in files):
            if not given.table:
                asked = chosen(SETS[name](files[name]), given.limit)
                print(f"== {name}", file=sys.stderr)
                ask(asked, rewriter, given.out / name, describe(settings, files[name]))
            found.append((name, RunDirectory(given.out / name).predictions()))
        if not any(items for _, items in found):
            raise InputError(f"{given.out} holds no rewritings")
        text = report(found)
        write_file(given.out / "rewriting.md", text)
    except AtomrError as error:
        print(f"{error.title}: {error.message}\n{error.hint}".rstrip(), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        if parts is not None:
            parts.close()
    print(text, end="")
    return 0


def chosen(asked: Sequence[FollowUp], limit: int | None) -> list[FollowUp]:
    """All of them, or a random part that depends on their words alone.

    Raises:
        InputError: there is none.
    """
    if not asked:
        raise InputError("the file holds no follow-up question that is kept out of training")
    mixed = sorted(asked, key=lambda item: hashlib.blake2b(f"{item.id} {item.typed}".encode()).digest())
    return mixed[:limit]


if __name__ == "__main__":
    sys.exit(main())
