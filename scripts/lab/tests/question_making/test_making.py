"""Questions made of small indexes, with trials that are told what to say."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from atomr_lab.evaluation.datasets import load_plans, load_questions
from atomr_lab.question_making import making as limits
from atomr_lab.question_making.hops import FORMS, Composed, questions_of
from atomr_lab.question_making.knowledge import Knowledge, NearValues, Reason
from atomr_lab.question_making.making import (
    DROPPED_FILE,
    QUESTIONS_FILE,
    RELATION_FULL,
    WEB_FILE,
    Failed,
    Making,
    Step,
    Wanted,
    Yield,
    deciding,
)
from support.crossing_world import build_world, opened
from support.eval_fakes import read_lines

from atomr_local.errors import AtomrError, Cancelled, InputError
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.validation import Limits

LOCAL = ("text-graph", "graph-text")


class Passing:
    """Trials that every question passes, but those that a test names."""

    def __init__(self, fails: Callable[[Composed], Failed | None] = lambda _made: None) -> None:
        self.fails = fails
        self.asked: list[str] = []

    def of(self, base: Composed) -> Failed | None:
        self.asked.append(base.question)
        return self.fails(base)

    def missed(self, made: Composed) -> Failed | None:
        return None


@pytest.fixture
def knowledge(own_home: Path) -> Iterator[Knowledge]:
    build_world(own_home)
    with opened() as found:
        yield found


def make(
    knowledge: Knowledge, out: Path, trials: Any = None, wanted: Wanted | None = None, **more: Any
) -> tuple[Yield, list[dict[str, Any]]]:
    wanted = wanted or Wanted(100, LOCAL, FORMS)
    near = NearValues(knowledge, lambda: knowledge.passages.openings(0, 100))
    with deciding(out, {"made of": "a world"}) as decisions:
        found = Making(knowledge, trials or Passing(), near, wanted, decisions, **more).run()
    return found, read_lines(out / QUESTIONS_FILE)


def test_both_directions_and_a_count(knowledge: Knowledge, tmp_path: Path) -> None:
    _, lines = make(knowledge, tmp_path / "out", wanted=Wanted(100, LOCAL, ("short", "count")))
    made = {line["question"]: line for line in lines}
    text_graph = made.get("When was the director of The Lake born?") or made.get(
        "How many children of the director of The Lake are listed?"
    )
    assert text_graph is not None
    assert text_graph["kind"] == "text-graph"
    graph_text = [line for line in lines if line["kind"] == "graph-text"]
    assert [line["question"] for line in graph_text] in (
        ["When was the director of The Sea born?"],
        ["When did the director of The Sea die?"],
        ["Where did the director of The Sea die?"],
    )


def test_a_line_holds_both_hops_with_what_they_stand_in(knowledge: Knowledge, tmp_path: Path) -> None:
    _, lines = make(knowledge, tmp_path / "out", wanted=Wanted(100, ("text-graph",), ("short",)))
    [line] = lines
    assert line["question"] == "When was the director of The Lake born?"
    assert line["answers"] == ["3 May 1901"]
    assert line["type"] == "short"
    assert line["evidences"] == [["The Lake", "director", "Ann Lee"], ["Ann Lee", "date of birth", "3 May 1901"]]
    assert line["gold_titles"] == ["The Lake"]
    text, graph = line["hops"]
    assert (text["source"], text["evidence"]) == ("text", ["the-lake#0"])
    assert text["said"] == "The Lake is a 1931 drama film directed by Ann Lee."
    assert graph["source"] == "graph"
    [triple] = graph["evidence"]
    assert triple.startswith("<urn:") or triple.startswith("<http")
    assert "1901-05-03" in triple
    assert line["plan"].splitlines() == [
        "1. Who directed The Lake?",
        ' 4. Who or what is The Lake? = Search("The Lake")',
        ' 5. Who directed [4]? = Relate([4], "director")',
        '2. When was [1] born? = Relate([1], "date of birth")',
    ]


def test_evaluation_reads_the_file_as_questions_and_as_plans(knowledge: Knowledge, tmp_path: Path) -> None:
    make(knowledge, tmp_path / "out")
    file = tmp_path / "out" / QUESTIONS_FILE
    questions = load_questions(file)
    assert questions
    assert load_plans(file, questions, Limits()).keys() == {question.id for question in questions}
    assert all(len(question.evidences) == 2 for question in questions)


def test_reasons_that_need_no_model(knowledge: Knowledge, tmp_path: Path) -> None:
    trials = Passing()
    found, _ = make(knowledge, tmp_path / "out", trials)
    assert found.dropped[Reason.CIRCULAR] >= 1  # the spouse of Cara Fox's spouse
    assert found.dropped[Reason.BRIDGE_LEAK] >= 1  # Life of Gil Moe
    assert found.dropped[Reason.AMBIGUOUS] >= 1  # Ann Lee and Jim Kay
    assert found.dropped[Reason.GRAPH_ALONE] >= 1  # The Moor is in the graph, too
    assert not [asked for asked in trials.asked if "Moor" in asked or "Gil Moe" in asked or "Hill" in asked]


def test_a_path_in_the_graph_is_found_however_its_date_is_written(own_home: Path, tmp_path: Path) -> None:
    pages = {"Bob Poe": "Bob Poe (born 4 June 1910) was a film director. He was born in York, England."}
    build_world(own_home, pages=pages, facts=["The Sea | director | Bob Poe", "Bob Poe | date of birth | 1910-06-04"])
    with opened() as knowledge:
        found, lines = make(knowledge, tmp_path / "out", wanted=Wanted(100, LOCAL, ("short",)))
    assert found.dropped[Reason.GRAPH_ALONE] == 1
    [line] = lines
    assert line["question"] == "Where was the director of The Sea born?"
    assert line["answers"] == ["York, England", "York"]


def test_what_a_text_says_has_five_words_at_most(own_home: Path, tmp_path: Path) -> None:
    names = {"The Lake": "Juan van der Berg Cruz", "The Sea": "Juan van der Berg de la Cruz"}
    pages = {title: f"{title} is a 1931 film directed by {name}." for title, name in names.items()}
    build_world(own_home, pages=pages, facts=[f"{name} | date of birth | 3 May 1901" for name in names.values()])
    with opened() as knowledge:
        found, lines = make(knowledge, tmp_path / "out", wanted=Wanted(60, LOCAL, ("short",)))
    assert [line["question"] for line in lines] == ["When was the director of The Lake born?"]
    assert found.candidates.total() == 1


def test_one_question_a_bridge(knowledge: Knowledge, tmp_path: Path) -> None:
    found, lines = make(knowledge, tmp_path / "out")
    bridges = [line["bridge_key"] for line in lines]
    assert len(set(bridges)) == len(bridges) == 2
    assert found.left_out["the bridge has a question already"] >= 1


def test_bridges_take_turns(own_home: Path, tmp_path: Path) -> None:
    """A bridge that fails does not keep the others waiting."""
    pages = {f"Film {n}": f"Film {n} is a 1931 film directed by Ann Lee{chr(97 + n)}." for n in range(3)}
    facts = [
        f"Ann Lee{chr(97 + n)} | {what}" for n in range(3) for what in ("date of birth | 1 May 1901", "spouse | Al Fo")
    ]
    build_world(own_home, pages=pages, facts=facts)
    trials = Passing(lambda _made: Failed(Reason.TEXT_ALONE, "1901"))
    with opened() as knowledge:
        make(knowledge, tmp_path / "out", trials, wanted=Wanted(60, LOCAL, ("short",)))
    films = [question.partition("Film ")[2][0] for question in trials.asked]
    assert len(films) == 6
    assert set(films[:3]) == {"0", "1", "2"}


def test_at_most_a_tenth_of_what_is_kept_has_a_relation(own_home: Path, tmp_path: Path) -> None:
    """However many are asked for: three of a relation in any case."""
    pages = {f"Film {n}": f"Film {n} is a 1931 film directed by Ann Lee{chr(97 + n)}." for n in range(12)}
    facts = [f"Ann Lee{chr(97 + n)} | date of birth | {n + 1} May 1901" for n in range(12)]
    build_world(own_home, pages=pages, facts=facts)
    with opened() as knowledge:
        found, lines = make(knowledge, tmp_path / "out", wanted=Wanted(1000, LOCAL, ("short",)))
        assert len(lines) == 3
        assert found.left_out == {RELATION_FULL: 9}
        _, lines = make(knowledge, tmp_path / "more", wanted=Wanted(30, LOCAL, ("short",), per_relation=5))
    assert len(lines) == 5


PAIRS = (("film directed", "date of birth | 3 May 19"), ("novel written", "place of birth | Lee"),
         ("opera composed", "place of death | Yor"), ("company founded", "spouse | Al Fo"))  # fmt: skip


@pytest.fixture
def shared(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Knowledge]:
    """Four pairs of relations, each of four works; half of what is kept may have the same relation."""
    monkeypatch.setattr(limits, "SHARE", 2)
    pages, facts = {}, []
    for row, (said, fact) in enumerate(PAIRS):
        for n in range(4):
            name = f"Ann Lee{chr(97 + 4 * row + n)}"
            pages[f"Work {row}{n}"] = f"Work {row}{n} is a {said} by {name}."
            facts.append(f"{name} | {fact}{10 + n if row == 0 else chr(97 + n)}")
    build_world(own_home, pages=pages, facts=facts)
    with opened() as found:
        yield found


def shares(lines: Sequence[dict[str, Any]]) -> Iterator[tuple[int, int]]:
    """After each question: how many there are, and how many of them have the most frequent relation."""
    counts: Counter[str] = Counter()
    for number, line in enumerate(lines, 1):
        counts.update({hop["relation"] for hop in line["hops"]})
        yield number, counts.most_common(1)[0][1]


HALF = Wanted(1000, LOCAL, ("short",), per_relation=1)


def test_the_limit_holds_after_every_question_and_what_waits_is_tried_again(shared: Knowledge, tmp_path: Path) -> None:
    found, lines = make(shared, tmp_path / "out", wanted=HALF)
    assert len(lines) > 8, "each relation had one at first"
    assert all(most <= max(1, number // 2) for number, most in shares(lines))
    assert found.candidates.total() == len(lines) + found.left_out.total()


def test_a_limited_run_that_is_interrupted_anywhere_ends_alike(shared: Knowledge, tmp_path: Path) -> None:
    whole, at_once = make(shared, tmp_path / "whole", Passing(every_third()), wanted=HALF)
    stopped = Cancellation()

    def stop(_step: Step) -> None:
        stopped.cancel()

    fails = every_third()
    for _ in range(100):
        stopped = Cancellation()
        with contextlib.suppress(Cancelled):
            again, lines = make(
                shared, tmp_path / "out", Passing(fails), wanted=HALF, on_step=stop, cancellation=stopped
            )
            break
    assert lines == at_once
    assert again.to_dict(1) == whole.to_dict(1)


def every_third() -> Callable[[Composed], Failed | None]:
    asked = itertools.count(1)
    return lambda _made: Failed(Reason.TEXT_ALONE, "") if next(asked) % 3 == 0 else None


def test_a_resumed_run_counts_what_it_does_not_meet_again(shared: Knowledge, tmp_path: Path) -> None:
    """Where the program gives other candidates than before, the limit holds for the file all the same."""
    _, lines = make(shared, tmp_path / "out", wanted=Wanted(4, LOCAL, ("short",), per_relation=1))
    file = tmp_path / "out" / QUESTIONS_FILE
    file.write_text("".join(json.dumps({**line, "id": f"old{at}"}) + "\n" for at, line in enumerate(lines)))
    found, lines = make(shared, tmp_path / "out", wanted=HALF)
    assert all(most <= max(1, number // 2) for number, most in shares(lines))
    assert found.forms.total() == len(lines) > 4


def test_yes_and_no_in_turn_with_a_near_wrong_value(own_home: Path, tmp_path: Path) -> None:
    pages = {f"Film {n}": f"Film {n} is a 1931 film directed by Ann Lee{chr(97 + n)}." for n in range(6)}
    facts = [f"Ann Lee{chr(97 + n)} | date of birth | {n + 1} May 190{n}" for n in range(6)]
    build_world(own_home, pages=pages, facts=facts)
    with opened() as knowledge:
        _, lines = make(knowledge, tmp_path / "out", wanted=Wanted(60, LOCAL, ("yes/no",), per_relation=6))
    assert sorted(line["answers"][0] for line in lines) == ["no"] * 3 + ["yes"] * 3
    for line in lines:
        right = line["evidences"][1][2]
        assert (f"born on {right}?" in line["question"]) == (line["answers"] == ["yes"])
        asked = line["question"].rpartition(" on ")[2].rstrip("?")
        assert f'Is([2], "{asked}", "same")' in line["plan"]
        assert abs(int(asked[-4:]) - int(right[-4:])) <= 1, "the nearest year"


def test_what_asking_rules_out_is_kept_with_its_reason(knowledge: Knowledge, tmp_path: Path) -> None:
    trials = Passing(lambda _made: Failed(Reason.TEXT_ALONE, "3 May 1901"))
    steps: list[Step] = []
    found, lines = make(knowledge, tmp_path / "out", trials, on_step=steps.append)
    assert lines == []
    dropped = read_lines(tmp_path / "out" / DROPPED_FILE)
    assert len(dropped) == len(trials.asked) == found.dropped[Reason.TEXT_ALONE] == len(steps)
    assert dropped[0]["reason"] == "answered by text alone"
    assert dropped[0]["answered"] == "3 May 1901"
    assert steps[-1].reason == "answered by text alone"


def test_an_interrupted_run_goes_on(knowledge: Knowledge, tmp_path: Path) -> None:
    whole, at_once = make(knowledge, tmp_path / "whole")
    stopped = Cancellation()

    def stop(_step: Step) -> None:
        stopped.cancel()

    with pytest.raises(Cancelled):
        make(knowledge, tmp_path / "out", on_step=stop, cancellation=stopped)
    [first] = read_lines(tmp_path / "out" / QUESTIONS_FILE)
    with (tmp_path / "out" / QUESTIONS_FILE).open("a") as stream:
        stream.write('{"id": "torn')  # killed while writing
    trials = Passing()
    again, lines = make(knowledge, tmp_path / "out", trials)
    assert lines == at_once
    assert first["question"] not in trials.asked
    assert again.to_dict(100) == whole.to_dict(100)


def test_the_seed_decides_the_order(own_home: Path, tmp_path: Path) -> None:
    pages = {f"Film {n}": f"Film {n} is a 1931 film directed by Ann Lee{chr(97 + n)}." for n in range(12)}
    facts = [f"Ann Lee{chr(97 + n)} | date of birth | {n + 1} May 1901" for n in range(12)]
    build_world(own_home, pages=pages, facts=facts)

    def made(out: str, seed: int) -> list[str]:
        with opened() as knowledge:
            _, lines = make(knowledge, tmp_path / out, wanted=Wanted(30, LOCAL, ("short",), seed))
        return [line["id"] for line in lines]

    assert made("a", 0) == made("b", 0) != made("c", 1)


def test_an_error_of_the_model_keeps_what_was_decided(knowledge: Knowledge, tmp_path: Path) -> None:
    asked: list[str] = []

    def broken(made: Composed) -> Failed | None:
        asked.append(made.question)
        if len(asked) > 1:
            raise AtomrError("the model is gone")
        return None

    with pytest.raises(AtomrError, match="gone"):
        make(knowledge, tmp_path / "out", Passing(broken))
    assert len(questions_of(tmp_path / "out" / QUESTIONS_FILE)) == 1


def test_rephrased_questions_say_so(knowledge: Knowledge, tmp_path: Path) -> None:
    _, lines = make(knowledge, tmp_path / "out", rephrase=lambda made: "Say, " + made.question.lower())
    assert all(line["rephrased"] and line["question"].startswith("Say, ") for line in lines)


def test_web_queries_are_kept_as_they_are_sent(tmp_path: Path) -> None:
    """Also those of a run that is interrupted; a line that a kill has cut short goes."""
    out = tmp_path / "out"
    with pytest.raises(Cancelled), deciding(out, {}) as decisions:
        assert not (out / WEB_FILE).exists(), "without a search there is no file"
        decisions.searched("search.example", "Ann Lee")
        assert [line["query"] for line in read_lines(out / WEB_FILE)] == ["Ann Lee"]
        raise Cancelled
    with (out / WEB_FILE).open("ab") as stream:
        stream.write(b'{"time": "20')
    with deciding(out, {}) as decisions:
        decisions.searched("search.example", "Ann Lee born\n\ud800")
    lines = read_lines(out / WEB_FILE)
    assert [(line["to"], line["query"]) for line in lines] == [
        ("search.example", "Ann Lee"), ("search.example", "Ann Lee born\n\ud800"),
    ]  # fmt: skip
    assert all(line["time"] for line in lines)


def test_another_description_is_refused(tmp_path: Path) -> None:
    with deciding(tmp_path / "out", {"seed": 0}):
        pass
    with pytest.raises(InputError, match="seed was 0, is now 1"), deciding(tmp_path / "out", {"seed": 1}):
        pass


def test_directories_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="not a directory"), deciding(tmp_path / "file", {}):
        pass
    (tmp_path / "loose").mkdir()
    (tmp_path / "loose" / QUESTIONS_FILE).write_text("")
    with pytest.raises(InputError, match="cannot be resumed"), deciding(tmp_path / "loose", {}):
        pass
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "make.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"), deciding(tmp_path / "damaged", {}):
        pass
    with (
        deciding(tmp_path / "busy", {}),
        pytest.raises(InputError, match="another process"),
        deciding(tmp_path / "busy", {}),
    ):
        pass


def test_control_characters_of_a_page_never_reach_a_question(own_home: Path, tmp_path: Path) -> None:
    pages = {
        "The \x1b[2JLake": "The Lake is a film directed by Ann Lee.",
        "L [3]": "L [3] is a film directed by Ann Lee.",
    }
    build_world(own_home, pages=pages, facts=["Ann Lee | date of birth | 3 May 1901"])
    with opened() as knowledge:
        _, lines = make(knowledge, tmp_path / "out")
    assert lines == []
