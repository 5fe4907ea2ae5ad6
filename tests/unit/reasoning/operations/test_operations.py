"""Typed operations over earlier answers: what is computed, how it is shown, and what is refused with which reason."""

from __future__ import annotations

import pytest

from atomr_local.reasoning.operations.compute import Computed, compute
from atomr_local.reasoning.operations.operands import Operand
from atomr_local.sources.protocol import Value, ValueKind
from atomr_local.tree.operations import parse_operation


def of(name: str, *texts: str, kind: ValueKind = ValueKind.TEXT) -> tuple[Value, ...]:
    owner = Value(name, ValueKind.ENTITY, f"https://example.org/{name}")
    return tuple(Value(text, kind, of=(owner,)) for text in texts)


def step(number: int, *values: str | Value, about: str = "", **more: object) -> Operand:
    taken = tuple(Value(value) if isinstance(value, str) else value for value in values)
    return Operand(number, "", taken, (Value(about),) if about else (), **more)  # type: ignore[arg-type]


def run(text: str, *operands: Operand | str, asked: str = "") -> Computed:
    return compute(parse_operation(text), operands, asked)


def texts(computed: Computed) -> list[str]:
    return [value.text for value in computed.values]


ANN = step(1, "1950-03-01", about="Ann")
BOB = step(2, "7 July 1948", about="Bob")
NILE = step(1, "6,650 km", about="Nile")
AMAZON = step(2, "6,400 km", about="Amazon")
RIVERS = step(3, *of("Nile", "6,650 km"), *of("Amazon", "6,400 km"), *of("Rhine", "1,233 km"), several_heads=True)


@pytest.mark.parametrize(
    ("operation", "operands", "answers", "computation"),
    [
        ('Compare([1], [2], "earlier")', (ANN, BOB), ["Bob"], "Bob 1948-07-07 < Ann 1950-03-01"),
        ('Compare([3], "larger")', (RIVERS,), ["Nile"], "Rhine 1,233 km < Amazon 6,400 km < Nile 6,650 km"),
        ('Top([3], "larger", "2")', (RIVERS,), ["Nile", "Amazon"], "Rhine 1,233 km < Amazon 6,400 km < Nile 6,650 km"),
        ('Sort([3], "smaller")', (RIVERS,), ["Rhine", "Amazon", "Nile"], None),
        ("Difference([1], [2])", (NILE, AMAZON), ["250 km"], "Nile 6,650 km − Amazon 6,400 km = 250 km"),
        ('Difference([1], [2], "miles")', (NILE, AMAZON), ["155.3 miles"], None),
        ("Difference([1], [2])", (ANN, BOB), ["1 year"], "1950-03-01 − 1948-07-07 = 1 year"),
        ('Difference([1], [2], "days")', (ANN, BOB), ["602"], None),
        ('Difference([1], [2], "months")', (ANN, BOB), ["19"], None),
        ('Difference([1], [2], "years")', (step(1, "1900-06-15"), step(2, "1950-06-14")), ["49"], None),
        ('Difference([1], [2], "years")', (step(1, "44 BC"), step(2, "27 BC")), ["17"], None),
        ("Difference([1], [2])", (step(1, "5 ft 10 in"), step(2, "6 feet")), ["2 in"], None),
        ("Ratio([1], [2])", (NILE, AMAZON), ["1.04"], "Nile 6,650 km / Amazon 6,400 km = 1.04"),
        ("Ratio([1], [2])", (step(1, "1 m"), step(2, "30 m")), ["0.033"], None),
        ("Average([1], [2])", (step(1, "6779 km"), step(2, "12104 km")), ["9441.5 km"], None),
        ('Compare([1], "larger")', (NILE,), ["Nile"], "Nile 6,650 km alone"),
        ("Sum([1], [2])", (NILE, AMAZON), ["13,050 km"], "Nile 6,650 km + Amazon 6,400 km = 13,050 km"),
        ("Sum([1], [2])", (step(1, "1.5 km"), step(2, "1,200 m")), ["2.7 km"], None),
        ("Average([1], [2])", (NILE, AMAZON), ["6525 km"], None),
        ("Sum([1], [2])", (step(1, "about 1.2 million"), step(2, "3")), ["about 1,200,003"], None),
        ("Count([1])", (step(1, "A", "B", "a"),), ["2"], "count(A, B) = 2"),
        ("Count([1])", (step(1, "68 million"),), ["68 million"], None),
        ("Count([1])", (step(1, none=True),), ["0"], None),
        ('Part([1], "decade")', (step(1, "1948-05-04"),), ["1940s"], "decade of 1948-05-04 = 1940s"),
        ('Part([1], "century")', (step(1, "1900"),), ["19th century"], None),
        ('Part([1], "century")', (step(1, "44 BC"),), ["1st century BC"], None),
        ('Part([1], "month")', (ANN,), ["March"], None),
        ('Part([1], "year")', (step(1, "2001-04-01", "1999-12-31", about="A"),), ["1999"], None),
        ('Convert([1], "feet")', (step(1, "8848 m"),), ["29,029 feet"], "8848 m = 29,029 feet"),
        ('Convert([1], "°F")', (step(1, "20 °C"),), ["68 °F"], None),
        ("All([1], [2])", (step(1, "yes"), step(2, "no")), ["no"], "yes and no"),
        ("Any([1], [2])", (step(1, "yes"), step(2, "no")), ["yes"], "yes or no"),
        ("Union([1], [2])", (step(1, "A", "B"), step(2, "b", "C")), ["A", "B", "C"], "{A, B} ∪ {b, C}"),
        ("Intersect([1], [2])", (step(1, "A", "B"), step(2, "b", "C")), ["B"], "{A, B} ∩ {b, C}"),
        ("Except([1], [2])", (step(1, "A", "B"), step(2, "b", "C")), ["A"], "{A, B} − {b, C}"),
    ],
)
def test_what_is_computed(
    operation: str, operands: tuple[Operand, ...], answers: list[str], computation: str | None
) -> None:
    computed = run(operation, *operands)
    assert texts(computed) == answers, computed
    assert computation in (None, computed.computation)
    assert not computed.reason


@pytest.mark.parametrize(
    ("operation", "operands", "verdict"),
    [
        ('Is([1], [2], "same")', (step(1, "Canadian"), step(2, "Canada")), "yes"),
        ('Is([1], [2], "different")', (step(1, "Chile"), step(2, "Peru")), "yes"),
        ('Is([1], [2], "among")', (step(1, "Chad"), step(2, "Niger", "Chad")), "yes"),
        ('Is([1], [2], "among")', (step(1, "Mali", "Chad"), step(2, "Niger", "Chad")), "no"),
        ('Is([1], [2], "earlier")', (ANN, BOB), "no"),
        ('Is([1], "1960s", "earlier")', (ANN, "1960s"), "yes"),
        ('Is([1], "1950", "same")', (ANN, "1950"), "yes"),
        ('Is([1], "3 million", "larger")', (step(1, "five million"), "3 million"), "yes"),
        ('Is([1], "4000 m", "larger")', (step(1, "4810"), "4000 m"), "yes"),
        ('Is([1], [2], "same")', (step(1, "3 May 1950"), step(2, "1950-05-03")), "yes"),
    ],
)
def test_verdicts(operation: str, operands: tuple[Operand | str, ...], verdict: str) -> None:
    assert texts(run(operation, *operands)) == [verdict]


@pytest.mark.parametrize(
    ("operation", "operands", "reason"),
    [
        ('Compare([1], [2], "earlier")', (ANN, step(2, "Paris")), "step 2 gave 'Paris'; a date is needed"),
        (
            'Compare([1], [2], "earlier")',
            (ANN, step(2, "1950", about="Bob")),
            "Bob 1950 and Ann 1950-03-01 cannot be put in an order",
        ),
        (
            'Is([1], [2], "earlier")',
            (step(1, "1950"), step(2, "1950")),
            "whether 1950 is earlier than 1950 cannot be told",
        ),
        ('Compare([1], [2], "larger")', (NILE, step(2)), "step 2 found nothing"),
        (
            "Sum([1], [2])",
            (step(1, "5 kg"), step(2, "3 m")),
            "step 1 gave '5 kg' and step 2 gave '3 m'; amounts in units of one kind are needed",
        ),
        (
            "Sum([1], [2])",
            (step(1, "100 apples"), step(2, "200")),
            "step 1 gave '100 apples'; a number or quantity is needed",
        ),
        ('Difference([1], [2], "days")', (step(1, "1950"), BOB), "1950 is no full date; days are needed"),
        ("Difference([1], [2])", (ANN, step(2, "Passy")), "step 2 gave 'Passy'; a date is needed"),
        ("Difference([1], [2])", (NILE, step(2, "Passy")), "step 2 gave 'Passy'; a number or quantity is needed"),
        ('Difference([1], [2], "km")', (ANN, BOB), "two dates differ by years, months, weeks or days"),
        ("Difference([1], [2])", (step(1, "1939–1945"), step(2, "1914-07-28")), "'1939–1945' is no single date"),
        ("Ratio([1], [2])", (step(1, "5"), step(2, "0")), "step 2 gave '0'; nothing can be divided by it"),
        ('Part([1], "day")', (step(1, "1950"),), "step 1 gave '1950', which does not say the day"),
        ('Convert([1], "kg")', (step(1, "20 °C"),), "'20 °C' cannot be told in 'kg'"),
        ("All([1], [2])", (step(1, "yes"), step(2, "Paris")), "step 2 gave 'Paris'; yes or no is needed"),
        (
            'Is([1], [2], "same")',
            (step(1, "Portland"), step(2, "Portland, Oregon")),
            "whether 'Portland' is 'Portland, Oregon' cannot be told",
        ),
        (  # a step that asks for the day is missing
            'Is([1], "February 19, 1913", "same")',
            (step(1, "Frank Tashlin"), "February 19, 1913"),
            "whether 'Frank Tashlin' is 'February 19, 1913' cannot be told",
        ),
        (
            "Difference([1], [2])",
            (step(1, "6,650 km", "6,853 km", about="Nile"), AMAZON),
            "step 1 gave several amounts (6,650 km / 6,853 km); one is needed",
        ),
        (
            'Compare([1], "larger")',
            (step(1, "5 m", "6 m", several_heads=True),),
            "step 1 does not say which value belongs to what",
        ),
        ("Each([1], [2])", (step(1), step(2)), "step 1 found nothing; step 2 found nothing"),
    ],
)
def test_what_has_no_result_says_why(operation: str, operands: tuple[Operand, ...], reason: str) -> None:
    computed = run(operation, *operands)
    assert (computed.values, computed.reason) == ((), reason)
    assert not computed.none


def test_several_amounts_of_one_thing_are_compared_where_it_does_not_matter_which_holds() -> None:
    nile = step(1, "6,650 km", "6,853 km", about="Nile")
    assert texts(run('Compare([1], [2], "larger")', nile, AMAZON)) == ["Nile"]
    other = step(2, "6,700 km", about="Other")
    assert "cannot be put in an order" in run('Compare([1], [2], "larger")', nile, other).reason


def test_a_tie_names_both_and_a_shared_value_belongs_to_both() -> None:
    shared = Value("10 m", of=(Value("A"), Value("B")))
    computed = run('Compare([1], "larger")', step(1, shared, *of("C", "9 m"), several_heads=True))
    assert texts(computed) == ["A", "B"]
    assert computed.computation == "C 9 m < B 10 m = A 10 m"


def test_a_condition_keeps_whose_value_satisfies_it_and_says_what_has_none() -> None:
    countries = step(
        2, *of("Denmark", "5.9 million"), *of("Norway", "5550203"), *of("Iceland", "387758"),
        several_heads=True, without=(Value("Finland"),),
    )  # fmt: skip
    computed = run('Select([2], "five million", "larger")', countries, "five million")
    assert texts(computed) == ["Denmark", "Norway"]
    assert computed.notes == ("left out, no value was found for: Finland",)
    assert computed.share == 0.75
    none = run('Select([2], "6 million", "larger")', countries, "6 million")
    assert none.none and none.reason == "none of them satisfies it"
    assert none.computation == "not: Denmark 5.9 million, Norway 5550203, Iceland 387758"
    of_country = step(3, *of("Ann", "French"), *of("Bob", "Spain"), several_heads=True)
    assert texts(run('Select([3], "France", "same")', of_country, "France")) == ["Ann"]
    assert texts(run('Select([3], "France", "different")', of_country, "France")) == ["Bob"]


def test_an_age_is_its_persons_and_so_may_be_compared() -> None:
    ages = []
    for number, (name, born, died) in enumerate((("Ann", "1900-05-01", "1950-06-01"), ("Bob", "1880", "1960"))):
        values = run('Difference([1], [2], "years")', step(2, *of(name, died)), step(1, *of(name, born))).values
        ages.append(step(number, *values))
    assert texts(run('Compare([1], [2], "smaller")', *ages)) == ["Ann"]
    apart = run('Difference([1], [2], "years")', step(2, *of("Ann", "1900")), step(1, *of("Bob", "1950")))
    assert apart.values[0].of == ()


def test_the_only_one_of_a_set_is_named_and_not_what_it_is_of() -> None:
    school = Value("MIT")
    alumnus = Value("Feynman", of=(school,))
    born = step(2, Value("1918-05-11", of=(alumnus,)))
    asked = "Who is the oldest person who studied at MIT?"
    assert texts(run('Compare([2], "earlier")', born, asked=asked)) == ["Feynman"]
    assert texts(run('Select([2], "1918", "same")', born, "1918", asked=asked)) == ["Feynman"]
    assert run('Select([2], "1919", "same")', born, "1919", asked=asked).none


def test_of_a_chain_the_question_says_which_is_asked_for() -> None:
    directors = [Value(name, of=(Value(film),)) for name, film in (("X", "Film A"), ("Y", "Film B"))]
    born = [step(3, Value("1970", of=(directors[0],))), step(4, Value("1960", of=(directors[1],)))]
    film = "Which film has the director born first, Film A or Film B?"
    assert texts(run('Compare([3], [4], "earlier")', *born, asked=film)) == ["Film B"]
    assert texts(run('Compare([3], [4], "earlier")', *born, asked="Which director was born first?")) == ["Y"]
    films = [Value(name, of=(Value(who),)) for name, who in (("F", "Ann"), ("G", "Ann"), ("H", "Bob"))]
    dates = step(2, *(Value(year, of=(film,)) for year, film in zip(("1990", "1980", "1985"), films, strict=True)))
    by = "Which of the films of Ann and Bob came out first?"
    assert texts(run('Compare([2], "earlier")', dates, asked=by)) == ["G"]
    assert texts(run('Compare([2], "earlier")', dates, asked="Who made the first film, Ann or Bob?")) == ["Ann"]


def test_entities_are_one_by_identity_before_name() -> None:
    one, other = (Value("Paris", ValueKind.ENTITY, f"https://example.org/{i}") for i in (1, 2))
    again = Value("Paris, France", ValueKind.ENTITY, one.iri)
    assert texts(run('Is([1], [2], "same")', step(1, one), step(2, other))) == ["no"]
    assert texts(run("Intersect([1], [2])", step(1, one, other), step(2, again))) == ["Paris"]


def test_several_questions_at_once_are_answered_one_by_one() -> None:
    lengths = run("Each([1], [2])", NILE, AMAZON)
    assert texts(lengths) == ["6,650 km", "6,400 km"]
    assert lengths.computation == "Nile: 6,650 km; Amazon: 6,400 km"
    half = run("Each([1], [2])", step(1, "45", about="Ann"), step(2, about="Bob"))
    assert (texts(half), half.computation) == (["45"], "Ann: 45; Bob: not found")


@pytest.mark.parametrize("operation", ["Ratio([1], [2])", "Average([1], [2])", "Sum([1], [2])", "Difference([1], [2])"])
def test_numbers_of_any_size_do_no_harm(operation: str) -> None:
    for one, other in (("1e999", "3"), ("1e-999", "3"), ("1e999", "1e-999"), ("9" * 60, "7")):
        computed = run(operation, step(1, one), step(2, other))
        assert computed.values or computed.reason
    converted = run('Convert([1], "mm")', step(1, "1e999 ly"))
    assert converted.values or converted.reason
    assert run('Difference([1], [2], "days")', step(1, "0001-01-01"), step(2, "9999-12-31")).values


@pytest.mark.parametrize(
    ("bound", "years", "kept"),
    [
        ("fifties", ("1951", "1962"), ["A"]),
        ("in the fifties", ("1951-03-01", "2001"), ["A"]),
        ("the 1950s", ("1951", "1962"), ["A"]),
        ("the twenties", ("1815", "1828"), ["B"]),  # of Schubert's works, those of the 1820s
        ("the 20s", ("1927", "1828"), ["A"]),
    ],
)
def test_a_decade_in_words_selects(bound: str, years: tuple[str, str], kept: list[str]) -> None:
    works = step(2, *of("A", years[0]), *of("B", years[1]), several_heads=True)
    assert texts(run(f'Select([2], "{bound}", "same")', works, bound)) == kept
