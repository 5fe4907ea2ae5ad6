"""Set operations over thousands of entities: the same as comparing all with all, without doing so."""

from __future__ import annotations

import random

import pytest

from atomr_local.reasoning.operations import amounts as sets
from atomr_local.reasoning.operations.compute import Computed, compute
from atomr_local.reasoning.operations.operands import Operand, alike
from atomr_local.sources.protocol import Value, ValueKind
from atomr_local.tree.operations import parse_operation

NUMBER = 10_000


def entities(numbers: range) -> tuple[Value, ...]:
    return tuple(Value(f"Person {n}", ValueKind.ENTITY, f"https://example.org/{n}") for n in numbers)


def run(text: str, *operands: tuple[Value, ...]) -> Computed:
    steps = [Operand(number, "", values) for number, values in enumerate(operands, 1)]
    return compute(parse_operation(text), steps, "")


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Value, Value]]:
    pairs: list[tuple[Value, Value]] = []

    def noted(one: Value, other: Value, *, said: bool = False) -> bool | None:
        pairs.append((one, other))
        return alike(one, other, said=said)

    monkeypatch.setattr(sets, "alike", noted)
    return pairs


@pytest.mark.parametrize(
    ("operation", "number"),
    [
        ("Union([1], [2])", NUMBER + NUMBER // 2),
        ("Intersect([1], [2])", NUMBER // 2),
        ("Except([1], [2])", NUMBER // 2),
        ("Count([1])", NUMBER),
    ],
)
def test_ten_thousand_entities_are_complete(operation: str, number: int, compared: list[object]) -> None:
    one, other = entities(range(NUMBER)), entities(range(NUMBER // 2, NUMBER + NUMBER // 2))
    computed = run(operation, one, *([other] if "[2]" in operation else []))
    if operation.startswith("Count"):
        assert [value.text for value in computed.values] == [str(number)]
    else:
        assert len({value.iri for value in computed.values}) == len(computed.values) == number
    assert compared == []


def test_whether_ten_thousand_are_among_others(compared: list[object]) -> None:
    many = entities(range(NUMBER))
    for operands, answer in (((many, many), "yes"), ((many, many[1:]), "no")):
        computed = run('Is([1], [2], "among")', *operands)
        assert [value.text for value in computed.values] == [answer]
    assert compared == []


def test_what_no_entity_is_known_of_is_compared_by_name(compared: list[object]) -> None:
    named = (Value("person 17"), Value("Nobody"))
    computed = run("Except([1], [2])", entities(range(100)), named)
    assert len(computed.values) == 99 and "Person 17" not in {value.text for value in computed.values}
    assert len(compared) <= 200


@pytest.mark.parametrize("seed", range(40))
def test_the_same_as_comparing_all_with_all(seed: int) -> None:
    rng = random.Random(seed)
    texts = ("Ann", "ann", "Bob (poet)", "Bob", "Portland", "Portland, Oregon", "1950", "1950-03", "3 km", "3,000 m")

    def some() -> tuple[Value, ...]:
        iris = (None, None, "https://example.org/1", "https://example.org/2", "https://example.org/3")
        return tuple(Value(rng.choice(texts), iri=rng.choice(iris)) for _ in range(rng.randint(1, 6)))

    one, other = some(), some()
    shared = tuple(value for value in one if any(alike(value, known) for known in other))
    doubt = next(((a, b) for a in one for b in other if alike(a, b) is None), None)
    assert sets._shared(one, other) == shared
    assert sets._doubtful(one, other) == doubt
    joined: list[Value] = []
    for operand in (one, other):
        joined += [value for value in operand if not any(alike(value, known) for known in joined)]
    assert sets.union([Operand(1, "", one), Operand(2, "", other)])[0] == tuple(joined)
