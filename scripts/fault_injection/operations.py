"""The operations that faults are made in: what is there before, the command, and what must be there afterwards."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import random
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

_WORDS = [f"word{number}" for number in range(40)]
# Kept between runs on purpose: locks, and builds that the next run goes on with.
_KEPT = re.compile(r"\.lock$|building\.lock$|\.starter\.lock$")
_TEMPORARY = re.compile(r"^\.|\.partial$|\.part$|\.new$|^tmp|\.damaged-|-journal$|-wal$|-shm$")


@dataclass(frozen=True)
class Operation:
    """One thing that users do.

    Attributes:
        prepare: makes the state before, in a home of its own.
        work: does it, as the command line would; raises SystemExit.
        state: what is there, as lines; raises where something is damaged.
        gradual: each line is kept by itself; otherwise all of them change at once or not at all.
        acknowledged: the lines that this output promises to be kept.
        again: running it twice leaves what running it once leaves.
    """

    name: str
    prepare: Callable[[Path, Path], None]
    work: Callable[[Path, Path], None]
    state: Callable[[Path], list[str]]
    gradual: bool = False
    acknowledged: Callable[[str], list[str]] = lambda _out: []
    again: bool = True


def warm() -> None:
    """Import what the operations need, and put fakes where a model or an embedder would be loaded."""
    import lancedb
    import lancedb.index
    import pyarrow.parquet
    import pyoxigraph
    import tomlkit

    import atomr_local.assistant.history.store
    import atomr_local.cli.commands.ask
    import atomr_local.cli.commands.examples
    import atomr_local.cli.commands.graph
    import atomr_local.cli.commands.history
    import atomr_local.cli.commands.indexes
    import atomr_local.cli.commands.text
    import atomr_local.cli.fetch
    import atomr_local.sources.graph
    import atomr_local.sources.text
    from atomr_local.assistant import session as loading
    from atomr_local.indexing.embedding import embedder as embedding
    from atomr_local.indexing.text_index import build as text_build

    del lancedb, pyarrow, pyoxigraph, tomlkit, atomr_local

    # Of tests/.
    embedder, parts = (importlib.import_module(f"support.{name}") for name in ("fake_embedder", "fake_parts"))

    class Unknowing(list[str]):
        """Replies that never come to an end."""

        def pop(self, _place: Any = 0) -> str:
            return str(parts.UNKNOWN)

    def load(self: Any, *_: object) -> None:
        self.backbone = parts.FakeBackbone()
        self.backbone.replies = Unknowing(["Unknown"])

    embedding.SentenceEmbedder = lambda *_, **__: embedder.FakeEmbedder()  # type: ignore[misc, assignment]
    loading.Session._load_backbone = load  # type: ignore[assignment, method-assign]
    text_build.BATCH, text_build.QUIET_RECORDS, text_build.COMPACT_EVERY = 4, 3, 5


def atomr(*arguments: str) -> None:
    """The command line, in this process."""
    from atomr_local.cli.main import main

    main(list(arguments))


def quietly(*arguments: str) -> None:
    """The command line, where it has to succeed."""
    with contextlib.suppress(SystemExit):
        try:
            atomr(*arguments)
        except SystemExit as stop:
            if stop.code:
                raise RuntimeError(f"atomr {' '.join(arguments)} failed while preparing") from stop


def write_inputs(folder: Path) -> None:
    """The files that the operations read."""
    chance = random.Random(12)

    def articles(name: str, numbers: range, version: str) -> None:
        rows = [
            {"id": f"a{n}", "title": f"Page {n}", "text": f"{version} " + " ".join(chance.choices(_WORDS, k=60)) + "."}
            for n in numbers
        ]
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    articles("a.jsonl", range(14), "old")
    articles("b.jsonl", range(4, 22), "new")
    articles("c.jsonl", range(10, 20), "changed")
    for name, count in (("facts-a.jsonl", 60), ("facts-b.jsonl", 90)):
        facts = [{"s": f"Lake {n}", "p": "country", "o": f"Land {n % (5 if count == 60 else 7)}"} for n in range(count)]
        (folder / name).write_text("".join(json.dumps(fact) + "\n" for fact in facts))
    (folder / "plan.txt").write_text('1. What is Lake 7? = Search("Lake 7")\n2. Where? = Relate([1], "country")\n')
    questions = [{"id": f"q{n}", "question": f"Where is Lake {n}?", "answers": ["Land 0"]} for n in range(4)]
    (folder / "questions.jsonl").write_text("".join(json.dumps(item) + "\n" for item in questions))
    plans = [
        {"id": f"q{n}", "plan": f'1. What is Lake {n}? = Search("Lake {n}")\n2. Where? = Relate([1], "country")'}
        for n in range(4)
    ]
    (folder / "plans.jsonl").write_text("".join(json.dumps(item) + "\n" for item in plans))
    from atomr_local.assistant.history.pending import encode
    from atomr_local.reasoning.trace.schema import Trace

    traces = [
        encode(Trace(question=f"Imported {n}?", strategy="atomr", settings={}, status="answered")) for n in range(5)
    ]
    (folder / "traces.jsonl").write_bytes(b"".join(text + b"\n" for text in traces))


def text_state(_home: Path) -> list[str]:
    """Every passage of the index `mine`; raises where verifying it finds damage."""
    from atomr_local.indexing import store
    from atomr_local.indexing.text_index.table import TABLE, connect

    _whole("text", "mine")
    directory = store.index_path("text", "mine")
    if not directory.exists():
        return []
    rows = connect(directory).open_table(TABLE).search().select(["id", "title", "text"]).to_list()
    return sorted(json.dumps([row["id"], row["title"], row["text"]]) for row in rows)


def vectors_state(home: Path) -> list[str]:
    """The passages of the index `mine`, and of those that its table knows the vectors."""
    from atomr_local.indexing import store
    from atomr_local.indexing.text_index.table import TABLE, VECTOR, connect

    passages = text_state(home)
    rows = connect(store.index_path("text", "mine")).open_table(TABLE).search().select(["id", VECTOR]).to_list()
    return [*passages, *sorted(f"{row['id']} {row[VECTOR]}" for row in rows)]


def graph_state(_home: Path, name: str = "facts") -> list[str]:
    from pyoxigraph import Store

    from atomr_local.indexing import store

    _whole("graph", name)
    directory = store.index_path("graph", name)
    if not directory.exists():
        return []
    quads = Store.read_only(str(directory / "oxigraph")).quads_for_pattern(None, None, None, None)
    with contextlib.closing(sqlite3.connect(f"file:{directory / 'names.sqlite'}?immutable=1", uri=True)) as database:
        names = database.execute("SELECT iri, label, statements FROM entity").fetchall()
    lines = sorted([*map(str, quads), *map(str, names)])
    return [hashlib.sha256("\n".join(lines).encode()).hexdigest(), str(len(lines))]


def _whole(kind: str, name: str) -> None:
    from atomr_local.indexing.builds import publishing
    from atomr_local.indexing.verify import verify_indexes

    publishing.put_back("text" if kind == "text" else "graph", name)
    for report in verify_indexes():
        if (report.kind, report.name, report.state) == (kind, name, "damaged"):
            raise RuntimeError(f"the {kind} index {name} is damaged: {report.problems}")


def history_state(_home: Path) -> list[str]:
    from atomr_local.assistant.history.store import History

    with History.open() as history:
        if history.notes:
            raise RuntimeError(f"the history told: {history.notes}")
        kept = [history.get(item.id) for item in history.entries()]
        for item in kept:
            if not history.entries(search=item.summary.question.split()[0]):
                raise RuntimeError(f"{item.summary.question} is not found by its words")
    return sorted(item.summary.question for item in kept)


def settings_state(home: Path) -> list[str]:
    from atomr_local.settings.schema import load_settings

    return [str(load_settings().top_k), (home / "config.toml").read_text()]


def examples_state(home: Path) -> list[str]:
    from atomr_local.reasoning.planning.examples import read_examples

    found, problems = read_examples(home / "examples.jsonl")
    if problems:
        raise RuntimeError(str(problems))
    return sorted(item.question for item in found)


def run_state(home: Path) -> list[str]:
    from atomr_lab.evaluation.runs import PREDICTIONS_FILE

    file = home / "run" / PREDICTIONS_FILE
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    return sorted(json.loads(line)["id"] for line in lines if line.endswith("\n"))


def export_state(home: Path) -> list[str]:
    return (home / "out.jsonl").read_text().splitlines()


def downloads_state(home: Path) -> list[str]:
    folder = home / "downloads"
    files = sorted(folder.rglob("*.parquet")) if folder.exists() else []
    return [f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}" for file in files]


def leftovers(home: Path) -> list[str]:
    """Files below `home` that look temporary, and that no later run needs."""
    return sorted(
        str(path.relative_to(home))
        for path in home.rglob("*")
        if _TEMPORARY.search(path.name) and not _KEPT.search(path.name)
    )


def _ask_home(_home: Path, inputs: Path) -> None:
    quietly("text", "build", str(inputs / "a.jsonl"), "--name", "mine")
    quietly("graph", "build", str(inputs / "facts-a.jsonl"), "--name", "facts")
    quietly("history", "import", str(inputs / "traces.jsonl"))


def _old_history(_home: Path, inputs: Path) -> None:
    """A history of the first schema, without the table for searching."""
    from atomr_local.assistant.history.store import history_file

    quietly("history", "import", str(inputs / "traces.jsonl"))
    with contextlib.closing(sqlite3.connect(history_file())) as old:
        for (name,) in old.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            old.execute(f"DROP TRIGGER {name}")
        old.execute("DROP TABLE IF EXISTS questions_search")
        old.execute("PRAGMA user_version = 1")
        old.commit()


def _save(_home: Path, _inputs: Path) -> None:
    from atomr_local.cli.main import report
    from atomr_local.errors import AtomrError
    from atomr_local.settings.file import save_settings

    try:
        save_settings({"top_k": 7, "llm.seed": 5})
    except AtomrError as error:
        report(error)
        raise SystemExit(1) from error


def _settings(home: Path, _inputs: Path) -> None:
    (home / "config.toml").write_text("# mine\ntop_k = 3\n")


def _folder_home(home: Path, _inputs: Path) -> None:
    """A folder that was edited after its index was built."""
    folder = home / "notes"
    (folder / "sub").mkdir(parents=True)
    for number in range(6):
        (folder / "sub" / f"n{number}.txt").write_text(f"Note {number} is about {' '.join(_WORDS[number:])}.")
    quietly("text", "build", str(folder), "--name", "mine")
    (folder / "sub" / "n1.txt").unlink()
    (folder / "sub" / "n2.txt").rename(folder / "moved.txt")
    for number in (3, 7, 8):
        (folder / "sub" / f"n{number}.txt").write_text(f"Note {number} was written anew: {' '.join(_WORDS)}.")


def _example(question: str) -> Callable[[Path, Path], None]:
    return lambda _home, inputs: atomr("examples", "add", "--question", question, "--plan", str(inputs / "plan.txt"))


def _export_home(home: Path, inputs: Path) -> None:
    quietly("history", "import", str(inputs / "traces.jsonl"))
    (home / "out.jsonl").write_text("old\n")


def _lose_words(home: Path, inputs: Path) -> None:
    quietly("text", "build", str(inputs / "a.jsonl"), "--name", "mine")
    for tokens in (home / "indexes" / "text" / "mine").rglob("*_tokens.lance"):
        tokens.write_bytes(bytes(8) + tokens.read_bytes()[8:])


def _text_or_damage(home: Path) -> list[str]:
    try:
        return text_state(home)
    except RuntimeError:
        return ["damaged"]


def _imported(out: str) -> list[str]:
    return re.findall(r"^ *\d+  (?:\(was here\) +)?(.+)$", out, re.MULTILINE)


def operations(hub: str) -> list[Operation]:
    """All of them; `hub` is the address of the server that files are fetched from."""
    text_options = ("--name", "mine")
    return [
        Operation(
            "ask", _ask_home,
            lambda _home, inputs: atomr("ask", "Where is Lake 7?", "--plan", str(inputs / "plan.txt")),
            history_state, gradual=True,
            again=False,
        ),
        Operation(
            "text build", lambda _home, inputs: quietly("text", "build", str(inputs / "a.jsonl"), *text_options),
            lambda _home, inputs: atomr("text", "build", str(inputs / "b.jsonl"), *text_options), text_state,
        ),
        Operation(
            "text build --add", lambda _home, inputs: quietly("text", "build", str(inputs / "a.jsonl"), *text_options),
            lambda _home, inputs: atomr("text", "build", str(inputs / "c.jsonl"), *text_options, "--add"), text_state,
        ),
        Operation(
            "text remove", lambda _home, inputs: quietly("text", "build", str(inputs / "a.jsonl"), *text_options),
            lambda _home, _inputs: atomr("text", "remove", "Page 3", *text_options), text_state, again=False,
        ),
        Operation(
            "text sync", _folder_home, lambda _home, _inputs: atomr("text", "sync", "mine"), text_state,
        ),
        Operation(
            "text embed",
            lambda _home, inputs: quietly(
                "text", "build", str(inputs / "b.jsonl"), *text_options, "--vectors", "later"
            ),
            lambda _home, _inputs: atomr("text", "embed", "mine"), vectors_state,
        ),
        Operation(
            "graph build",
            lambda _home, inputs: quietly("graph", "build", str(inputs / "facts-a.jsonl"), "--name", "facts"),
            lambda _home, inputs: atomr("graph", "build", str(inputs / "facts-b.jsonl"), "--name", "facts"),
            graph_state,
        ),
        Operation(
            "indexes repair", _lose_words, lambda _home, _inputs: atomr("indexes", "repair", "mine"), _text_or_damage,
        ),
        Operation(
            "fetch", lambda home, _inputs: home.mkdir(exist_ok=True),
            lambda _home, _inputs: atomr("fetch", "wikipedia", "--kind", "parquet", "--base-url", hub, "--yes"),
            downloads_state,
        ),
        Operation(
            "history import", lambda home, _inputs: home.mkdir(exist_ok=True),
            lambda _home, inputs: atomr("history", "import", str(inputs / "traces.jsonl")), history_state,
            gradual=True, acknowledged=_imported,
        ),
        Operation(
            "history delete", lambda _home, inputs: quietly("history", "import", str(inputs / "traces.jsonl")),
            lambda _home, _inputs: atomr("history", "delete", "2", "3", "--yes"), history_state, again=False,
        ),
        Operation(
            "history migration", _old_history, lambda _home, _inputs: atomr("history", "list"), history_state,
        ),
        Operation(
            "history export", _export_home,
            lambda home, _inputs: atomr(
                "history", "export", "--all", "--format", "json", "--out", str(home / "out.jsonl")
            ),
            export_state,
        ),
        Operation("settings", _settings, _save, settings_state),
        Operation(
            "examples", _example("Where is Lake 1?"), _example("Where is Lake 2?"), examples_state, gradual=True,
        ),
        Operation(
            "eval run",
            lambda _home, inputs: quietly("graph", "build", str(inputs / "facts-a.jsonl"), "--name", "facts"),
            lambda home, inputs: atomr(
                "eval", "run", "--questions", str(inputs / "questions.jsonl"), "--plans", str(inputs / "plans.jsonl"),
                "--sources", "graph", "--out", str(home / "run"),
            ),
            run_state, gradual=True,
        ),
    ]  # fmt: skip


def copy_home(template: Path, home: Path) -> None:
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(template, home, symlinks=True)
