"""The facts of a graph index as text: what is written, how it is ranked, and how it comes into an index."""

from __future__ import annotations

import json
import math
import sqlite3
from pathlib import Path

import pytest
from support.graph_contents import names
from support.homes import home_fixtures

from atomr_local.errors import Cancelled, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.graph_index import linearised as linearising
from atomr_local.indexing.graph_index import linearised as table
from atomr_local.indexing.graph_index.build import BuildProgress
from atomr_local.indexing.graph_index.index import build_graph_index, linearise_graph_index
from atomr_local.indexing.graph_index.linearised import COUNT, FILE, LAYOUT, FactTable, query_words
from atomr_local.indexing.verify import repair_indexes, verify_indexes
from atomr_local.system.cancellation import Cancellation

FACTS = [
    ("Ada Lovelace", "father", "Lord Byron"), ("Ada Lovelace", "place of birth", "London"),
    ("Ada Lovelace", "also known as", "Countess of Lovelace"), ("Lord Byron", "occupation", "poet"),
    ("Lord Byron", "place of birth", "London"), ("Jane Austen", "date of birth", "16 December 1775"),
    ("Łódź", "country", "Poland"), ("東京", "country", "Japan"),
]  # fmt: skip


def written_facts(file: Path, *triples: tuple[str, str, str]) -> Path:
    file.write_text("".join(json.dumps({"s": s, "p": p, "o": o}) + "\n" for s, p, o in triples), encoding="utf-8")
    return file


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    return written_facts(tmp_path / "facts.jsonl", *FACTS)


def build(home: Path) -> None:
    build_graph_index([written_facts(home / "facts.jsonl", *FACTS)], "t", linearise=True)


built_home, copied_home = home_fixtures(build)


def directory(name: str = "t") -> Path:
    return store.index_path("graph", name)


def opened(name: str = "t") -> FactTable:
    return FactTable(directory(name), names(name))


def found(query: str, number: int = 10, name: str = "t") -> list[str]:
    def last(iri: str) -> str:
        return iri.strip("<>").rsplit("/", 1)[-1].rsplit(":", 1)[-1]

    return [
        f"{last(row.subject)} {last(row.property)} {last(row.object)}" for row in opened(name).search(query, number)
    ]


def rows(name: str = "t") -> list[tuple[object, ...]]:
    with sqlite3.connect(directory(name) / FILE) as db:
        return db.execute("SELECT id, subject, property, object, qualifiers FROM fact").fetchall()


def test_a_build_makes_the_facts_as_text_where_it_is_asked_to(facts: Path) -> None:
    plain = build_graph_index([facts], "t")
    assert COUNT not in plain.counts
    assert not (directory() / FILE).exists()
    made = build_graph_index([facts], "t", linearise=True)
    assert made.counts == plain.counts | {COUNT: 7}
    assert made.settings[COUNT] == LAYOUT
    assert [report.problems for report in verify_indexes("t")] == [[]]
    assert [file.name for file in directory().glob(f"{FILE}*")] == [FILE]


def test_words_of_subject_relation_object_and_other_names_find_a_fact(copied_home: Path) -> None:
    assert found("Who was the father of Ada Lovelace?", 1) == ["Ada%20Lovelace P22 Lord%20Byron"]
    assert found("poets") == ["Lord%20Byron P106 poet"], "inflections are found"
    assert found("born 1775") == ["Jane%20Austen P569 XMLSchema#date"]
    assert sorted(found("countess")) == ["Ada%20Lovelace P19 London", "Ada%20Lovelace P22 Lord%20Byron"], "an alias"
    assert found("lodz") == ["%C5%81%C3%B3d%C5%BA P17 Poland"], "without accents"
    assert found("京") == ["%E6%9D%B1%E4%BA%AC P17 Japan"], "characters where words are not marked"
    assert found("nothing like it here") == []
    assert found("") == []
    assert found("father", 0) == []


@pytest.mark.parametrize(
    "query",
    ['"', '" OR "', "fact:London", "NEAR(a b)", "* ^ -London", "a AND", "{fact} : x", "\0\ud800 London", "'); DROP"],
)
def test_nothing_in_a_query_is_syntax(copied_home: Path, query: str) -> None:
    assert set(found(query)) <= {"Ada%20Lovelace P19 London", "Lord%20Byron P19 London"}
    assert opened().count() == 7


def test_the_score_is_bm25(tmp_path: Path) -> None:
    triples = [("alpha", "beta", "gamma"), ("alpha", "delta", "epsilon zeta"), ("eta", "beta", "theta"),
               ("iota", "kappa", "lambda")]  # fmt: skip
    build_graph_index([written_facts(tmp_path / "world.jsonl", *triples)], "w", linearise=True)
    [row] = FactTable(directory("w"), names("w")).search("gamma", 5)
    # One of four facts, of three words where the mean is 13/4; k1 = 1.2, b = 0.75.
    assert row.score == pytest.approx(math.log(3.5 / 1.5) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 3 / (13 / 4))), abs=1e-6)


def test_words_that_say_nothing_are_left_out_where_there_are_others() -> None:
    assert query_words("Who is the mother of Mary Shelley?") == ["mother", "mary", "shelley"]
    assert query_words("The Who") == ["the", "who"]
    assert len(query_words(" ".join(f"word{i}" for i in range(500)))) == 32


def test_where_words_are_in_very_many_facts_the_rarer_ones_choose_and_all_of_them_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    triples = [(f"person {i}", "place of birth", "London") for i in range(60)]
    triples += [(f"man {i}", "occupation", "writer") for i in range(80)]
    triples += [("Ada", "father", "Byron"), ("Ada", "place of birth", "London"), ("Ada", "occupation", "writer")]
    build_graph_index([written_facts(tmp_path / "facts.jsonl", *triples)], "t", linearise=True)
    whole = opened().search("place of birth of Ada in London", 3)
    monkeypatch.setattr(table, "_MANY_FACTS", 20)
    monkeypatch.setattr(table, "_PRESELECTED", 3)
    few = opened().search("place of birth of Ada in London", 3)
    assert (few[0], whole[0]) == (whole[0], few[0])
    assert few[0].property.endswith("P19")
    assert {row.subject.rsplit(":", 1)[-1] for row in few} == {"Ada"}, "a rare word has to be there"


def test_an_index_gets_its_facts_as_text_later_and_shares_its_other_files(facts: Path) -> None:
    before = build_graph_index([facts], "t")
    inodes = {name: (directory() / name).stat().st_ino for name in ("names.sqlite",)}
    manifest, done = linearise_graph_index("t")
    assert done
    assert manifest.counts == before.counts | {COUNT: 7}
    assert manifest.built_at == before.built_at
    assert {name: (directory() / name).stat().st_ino for name in inodes} == inodes
    assert found("father")
    built = rows()
    build_graph_index([facts], "u", linearise=True)
    assert rows("u") == built, "the same as a build makes"
    assert linearise_graph_index("t") == (manifest, False)
    assert linearise_graph_index("t", again=True)[1]
    assert rows() == built
    assert [report.problems for report in verify_indexes()] == [[], []]
    publishing.remove("graph", "t")
    assert not directory().exists()


def test_a_stopped_run_changes_nothing_and_goes_on_to_the_same_table(
    facts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linearising, "_ENTITIES", 1)
    monkeypatch.setattr(linearising, "_COMMIT_FACTS", 2)
    build_graph_index([facts], "t")
    build_graph_index([facts], "u", linearise=True)
    for stop in (1, 4):
        cancellation = Cancellation()

        def told(state: BuildProgress, stop: int = stop, cancellation: Cancellation = cancellation) -> None:
            if state.triples >= stop:
                cancellation.cancel()

        with pytest.raises(Cancelled):
            linearise_graph_index("t", progress=told, cancellation=cancellation)
        assert COUNT not in store.read_manifest(directory()).counts
    half = verify_indexes("t")[1]
    assert (half.state, half.hint.startswith("Run `atomr graph linearise t` again")) == ("half-built", True)
    notes: list[str] = []
    least: list[int] = []

    def heard(state: BuildProgress) -> None:
        notes.append(state.note)
        least.append(state.triples)

    linearise_graph_index("t", progress=heard)
    assert set(notes) == {"resuming an unfinished run"}
    assert min(least) > 4, "what was written before is kept"
    assert rows() == rows("u")
    assert found("father") == found("father", name="u")


def test_a_build_that_was_stopped_while_it_linearised_goes_on(facts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linearising, "_ENTITIES", 1)

    def told(state: BuildProgress) -> None:
        if state.stage == "linearising facts" and state.triples > 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_graph_index([facts], "t", linearise=True, progress=told)
    assert not directory().exists()
    with pytest.raises(KnowledgeIndexError, match="no finished index"):
        linearise_graph_index("t")
    stages: list[str] = []
    build_graph_index([facts], "t", linearise=True, progress=lambda state: stages.append(state.stage))
    assert set(stages) == {"linearising facts"}
    assert len(rows()) == 7
    with pytest.raises(KeyboardInterrupt):
        build_graph_index([facts], "t", linearise=True, progress=told)
    plain = build_graph_index([facts], "t")
    assert COUNT not in plain.counts, "the same build without them takes them away"
    assert not (directory() / FILE).exists()
    assert [report.problems for report in verify_indexes("t")] == [[]]


def test_an_unfinished_build_is_not_lost_to_linearising(facts: Path) -> None:
    build_graph_index([facts], "t")

    def told(state: BuildProgress) -> None:
        if state.stage == "indexing names":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_graph_index([facts], "t", language="de", progress=told)
    with pytest.raises(KnowledgeIndexError, match="would be lost"):
        linearise_graph_index("t")


def test_a_damaged_table_is_found_explained_and_made_again(copied_home: Path) -> None:
    for damage in ("rubbish", "cut", "gone"):
        file = directory() / FILE
        content = file.read_bytes()
        file.unlink()
        if damage != "gone":
            file.write_bytes(b"rubbish" * 1000 if damage == "rubbish" else content[: len(content) // 2])
            with pytest.raises(KnowledgeIndexError) as raised:
                opened().search("father", 3)
            assert raised.value.hint == "Run `atomr graph linearise t`."
        [report] = verify_indexes("t")
        assert any(FILE in problem for problem in report.problems)
        if damage == "cut":
            assert linearise_graph_index("t")[1]
        else:
            [repair] = repair_indexes("t", open_embedder=lambda: pytest.fail("not needed"))
            assert "made its facts as text again" in repair.done
        assert [report.problems for report in verify_indexes("t")] == [[]]
        assert found("father")


@pytest.mark.parametrize(
    ("change", "told"),
    [("PRAGMA user_version=99", "of another version"), ("UPDATE fact SET subject = 999", "damaged")],
)
def test_a_table_of_another_version_or_that_names_what_is_not_there_says_the_command(
    copied_home: Path, change: str, told: str
) -> None:
    with sqlite3.connect(directory() / FILE) as db:
        db.execute(change)
    with pytest.raises(KnowledgeIndexError, match=told) as raised:
        opened().search("father", 3)
    assert raised.value.hint == "Run `atomr graph linearise t`."


def test_the_table_is_not_kept_from_an_index_whose_other_files_are_damaged(facts: Path) -> None:
    build_graph_index([facts], "t")
    with (directory() / "names.sqlite").open("r+b") as stream:
        stream.write(b"rubbish")
    with pytest.raises(KnowledgeIndexError, match=r"names\.sqlite"):
        linearise_graph_index("t")


def test_the_command_that_builds_it_again_names_the_option(copied_home: Path) -> None:
    (directory() / "names.sqlite").write_bytes(b"")
    [report] = verify_indexes("t")
    assert report.hint.endswith("--name t --linearise")
