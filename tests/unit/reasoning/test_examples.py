"""Which worked plans are shown for a question, and the user's own among them."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from atomr_local.errors import InputError
from atomr_local.reasoning.planning.examples import (
    Example,
    ExampleLibrary,
    check_example,
    example_line,
    keep_example,
    read_examples,
    shape_terms,
)

CHAIN = '1. Who directed {0}?\n 3. What is {0}? = Search("{0}")\n 4. Who directed [3]? = Relate([3], "director")\n2. Where was [1] born? = Relate([1], "place of birth")'
LOOK_UP = '1. What is {0}? = Search("{0}")\n2. What is the capital of [1]? = Relate([1], "capital")'


def example(question: str, plan: str, name: str) -> Example:
    return Example(question.format(name), plan.format(name))


def test_the_most_relevant_stands_last_and_two_alike_are_not_both_taken() -> None:
    born = [example("Where was the director of {} born?", CHAIN, name) for name in ("Metropolis", "Vertigo", "Psycho")]
    capital = example("What is the capital of {}?", LOOK_UP, "France")
    chosen = ExampleLibrary([*born, capital]).select("Where was the director of Jaws born?", 2)
    assert chosen == (capital, born[0])


def test_the_greedy_choice_maximises_the_determinant_step_by_step() -> None:
    library = ExampleLibrary.shipped()
    question = "Who is the mother of the director of Jaws?"
    chosen = library.shapes.greedy([1.0 + 0.01 * i for i in range(len(library))], 3)

    def determinant(rows: list[int]) -> float:
        matrix = [
            [(1.0 + 0.01 * i) * (1.0 if i == j else library.shapes.similarity(i, j)) * (1.0 + 0.01 * j) for j in rows]
            for i in rows
        ]
        total = 1.0
        for k in range(len(matrix)):
            total *= matrix[k][k]
            for i in range(k + 1, len(matrix)):
                factor = matrix[i][k] / matrix[k][k]
                matrix[i] = [a - factor * b for a, b in zip(matrix[i], matrix[k], strict=True)]
        return total

    for size in (1, 2, 3):
        best = max(determinant([*chosen[: size - 1], i]) for i in range(len(library)) if i not in chosen[: size - 1])
        assert math.isclose(determinant(chosen[:size]), best, rel_tol=1e-6)
    assert len(library.select(question, 4)) == 4


@pytest.mark.parametrize("count", [0, 1, 500])
def test_no_more_than_asked_and_no_more_than_there_are(count: int) -> None:
    library = ExampleLibrary.shipped()
    chosen = library.select("Who?", count)
    assert len(chosen) <= min(count, len(library))
    assert len(set(chosen)) == len(chosen)


def test_a_budget_passes_over_what_does_not_fit() -> None:
    long = example("Where was the director of {} born?", CHAIN, "Metropolis")
    short = example("What is the capital of {}?", LOOK_UP, "France")
    library = ExampleLibrary([long, short])
    asked: list[str] = []

    def measure(one: Example) -> int:
        asked.append(one.question)
        return one.plan.count("\n") + 1

    question = "Where was the director of Jaws born?"
    assert library.select(question, 2, budget=6, measure=measure) == (short, long)
    assert library.select(question, 2, budget=5, measure=measure) == (long,)
    assert library.select(question, 2, budget=3, measure=measure) == (short,)
    assert library.select(question, 2, budget=0, measure=measure) == ()
    asked.clear()
    assert library.select(question, 1, budget=6, measure=measure) == (long,)
    assert asked == [long.question]
    assert library.select(question, 2, budget=len(short.question) + len(short.plan)) == (short,)


@pytest.mark.parametrize(
    ("question", "shape"),
    [
        ("How many sons did Otto III have?", "Count([1])"),
        ("Which city borders both Lyon and Nice?", "Intersect([1], [2])"),
        ("Are Lake Ohrid and Lake Prespa located in the same country?", 'Is([1], [2], "same")'),
        ("At what age did Otto von Guericke die?", 'Difference([1], [2], "years")'),
        ("What is the combined population of Oslo and Bergen?", "Sum([1], [2])"),
    ],
)
def test_the_last_example_ends_as_the_question_asks(question: str, shape: str) -> None:
    assert ExampleLibrary.shipped().select(question, 4)[-1].plan.endswith(shape)


def test_the_shape_of_a_question_is_its_words_each_once_its_opening_and_its_number_of_names() -> None:
    shape = shape_terms("Are Ann Lee and Bob Ray from the town of the poet of Ode?")
    assert set(shape.values()) == {1}
    assert {"^ are", "names: 3", "_name_ and", "the town", "of the"} <= shape.keys()
    assert not {"ann", "lee", "ode"} & shape.keys()
    assert shape_terms("Is Ann Lee from Ulm?") == shape_terms("Is Bob from Bad Ems?") != shape_terms("Is Bob from?")
    assert "names: 3" in shape_terms("Do Ann, bob, Cid or Dan and Eve of Ulm and you and Fay know Gus?")
    assert shape_terms("") == {"names: 0": 1}


def test_an_example_twice_is_shown_once() -> None:
    one = example("What is the capital of {}?", LOOK_UP, "France")
    assert ExampleLibrary([one, one]).select("What is the capital of Peru?", 2) == (one,)


def test_an_empty_library_gives_nothing() -> None:
    assert ExampleLibrary([]).select("Who?", 3) == ()


def test_the_users_examples_join_and_win(tmp_path: Path) -> None:
    shipped = ExampleLibrary.shipped()
    mine = example("What is the capital of {}?", LOOK_UP, "Atlantis")
    same = Example(shipped.select("Who?", 1)[0].question, LOOK_UP.format("Mine"))
    path = tmp_path / "examples.jsonl"
    path.write_text(f"{example_line(mine)}\n{example_line(same)}\n", encoding="utf-8")
    library = ExampleLibrary.load(path)
    assert len(library) == len(shipped) + 1
    assert library.select("What is the capital of Atlantis?", 1) == (mine,)
    assert same in library.select(same.question, len(library))


def test_what_changes_in_the_file_holds_from_the_next_question_on(tmp_path: Path) -> None:
    asked = "What is the capital of Atlantis?"
    path = tmp_path / "examples.jsonl"
    before = ExampleLibrary.load(path)
    first = Example(asked, LOOK_UP.format("Atlantis"))
    path.write_text(f"{example_line(first)}\n", encoding="utf-8")
    with_first = ExampleLibrary.load(path)
    second = Example(asked, LOOK_UP.format("Mars"))
    path.write_text(f"{example_line(second)}\n", encoding="utf-8")
    with_second = ExampleLibrary.load(path)
    path.unlink()
    assert (before.kept(asked), with_first.kept(asked), with_second.kept(asked)) == (None, first, second)
    assert with_first.select(asked, 1) == (first,)
    assert with_second.select(asked, 1) == (second,)
    assert ExampleLibrary.load(path).select(asked, 3) == before.select(asked, 3)


def test_bad_lines_are_named_and_the_others_read(tmp_path: Path) -> None:
    path = tmp_path / "examples.jsonl"
    good = example_line(example("What is the capital of {}?", LOOK_UP, "Peru"))
    lines = [
        "",
        "no json",
        "[]",
        '{"question": "Q?", "plan": 1}',
        json.dumps({"question": "Q?", "plan": "1. [9]?"}),
        good,
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    found, problems = read_examples(path)
    assert [e.question for e in found] == ["What is the capital of Peru?"]
    assert [problem.split(":")[0].rsplit(" ", 1)[1] for problem in problems] == ["2", "3", "4", "5"]


def test_examples_that_may_quote_a_withheld_index_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "examples.jsonl"
    made = {
        name: check_example(f"What is the capital of {name}?", LOOK_UP.format(name), indexes)
        for name, indexes in {"Atlantis": ["wiki"], "Avalon": ["notes", "wiki"], "Camelot": None}.items()
    }
    for one in made.values():
        keep_example(path, one)
    assert read_examples(path)[0] == list(made.values())

    def kept(*withheld: str) -> set[str]:
        library = ExampleLibrary.load(path, withheld)
        used = {name for name, one in made.items() if library.kept(one.question) == one}
        assert {name for name, one in made.items() if not library.withholds(one.question)} == used
        assert len(library) == len(ExampleLibrary.shipped()) + len(used)
        return used

    assert kept() == {"Atlantis", "Avalon", "Camelot"}
    assert kept("diary") == {"Atlantis", "Avalon"}  # of the third nobody knows what it quotes
    assert kept("notes", "diary") == {"Atlantis"}


def test_a_shipped_example_stands_where_the_users_is_withheld(tmp_path: Path) -> None:
    shipped = ExampleLibrary.shipped().select("Who?", 1)[0]
    path = tmp_path / "examples.jsonl"
    keep_example(path, check_example(shipped.question, LOOK_UP.format("Mine"), ["notes"]))
    library = ExampleLibrary.load(path, {"notes"})
    assert shipped in library.select(shipped.question, len(library))
    assert library.kept(shipped.question) is None


@pytest.mark.parametrize("indexes", ["notes", [1], {"notes": 1}, ["a"] * 101])
def test_indexes_of_an_example_that_are_no_names_are_refused(tmp_path: Path, indexes: object) -> None:
    path = tmp_path / "examples.jsonl"
    one = example("What is the capital of {}?", LOOK_UP, "Peru")
    path.write_text(json.dumps({"question": one.question, "plan": one.plan, "indexes": indexes}))
    found, problems = read_examples(path)
    assert found == []
    assert "its indexes are not a list of at most 100 names" in problems[0]


def test_no_file_is_no_example(tmp_path: Path) -> None:
    assert read_examples(tmp_path / "none.jsonl") == ([], [])


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "examples.jsonl"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"examples\.jsonl"):
        ExampleLibrary.load(path)


@pytest.mark.parametrize(
    ("question", "plan", "told"),
    [
        ("", LOOK_UP, "no question"),
        ("Q?", "", "cannot be read|not valid"),
        ("Q?", "1. a [7]?", "cannot be read|not valid"),
    ],
)
def test_what_would_not_run_is_refused(question: str, plan: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        check_example(question, plan)


def test_examples_that_several_processes_add_at_once_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "examples.jsonl"
    script = (
        "import sys\nfrom pathlib import Path\nfrom atomr_local.reasoning.planning.examples import Example, keep_example\n"
        "for i in range(20):\n    keep_example(Path(sys.argv[1]), Example(f'Who is {sys.argv[2]} {i}?', sys.argv[3]))\n"
    )
    plan = LOOK_UP.format("Peru")
    running = [subprocess.Popen([sys.executable, "-c", script, str(path), name, plan]) for name in ("A", "B", "C")]
    assert [process.wait() for process in running] == [0, 0, 0]
    kept = {json.loads(line)["question"] for line in path.read_text().splitlines()}
    assert kept == {f"Who is {name} {i}?" for name in "ABC" for i in range(20)}
