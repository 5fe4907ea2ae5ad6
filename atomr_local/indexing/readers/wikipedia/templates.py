"""Templates of wikitext: the words that they show in sentences, tables and infoboxes.

What most of them show is told by the patterns in templates.toml. Dates, amounts, money and sounds are computed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from atomr_local.indexing.readers.known import known
from atomr_local.language.literals import MONTHS

_DATA = known("wikipedia/templates.toml")
_FIELD = re.compile(r"\{(\^?)([^{}|]+)(?:\|([^{}]*))?\}")
_PLACES = re.compile(r"(?P<filled>#?)(?P<first>-?\d+)(?:(?P<on>\.\.)(?P<last>-?\d*))?")
_RAISED = str.maketrans("0123456789-−+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻⁺")
# Of a template: its name in lower case, its arguments without a name, and the others by their names in lower case.
Call = tuple[str, Sequence[str], Mapping[str, str]]


def _by_name(rows: Iterable[Sequence[str]]) -> dict[str, str]:
    """What each name of the rows shows, of several rows the first."""
    return {name: shown for shown, *names in reversed(list(rows)) for name in names}


class _Pattern:
    """A pattern of templates.toml, whose head tells what may stand in it."""

    def __init__(self, text: str) -> None:
        # Outside of brackets, and in them, in turn.
        self._pieces = [_parts_of(piece) for piece in re.split(r"[\[\]]", text)]

    def filled(self, call: Call) -> str | None:
        """The pattern with the arguments; None where one is missing that must be there."""
        shown = ""
        for number, parts in enumerate(self._pieces):
            words = [part if isinstance(part, str) else part(call) for part in parts]
            if all(words):
                shown += "".join(words)
            elif number % 2 == 0:
                return None
        return shown


def _parts_of(piece: str) -> list[str | Callable[[Call], str]]:
    """The texts and the fields of a piece of a pattern, in order."""
    parts: list[str | Callable[[Call], str]] = []
    at = 0
    for found in _FIELD.finditer(piece):
        parts += (piece[at : found.start()], _field(found[2], found[3] or "", to_raise=bool(found[1])))
        at = found.end()
    return [part for part in (*parts, piece[at:]) if part != ""]


def _field(items: str, between: str, *, to_raise: bool) -> Callable[[Call], str]:
    alternatives = [[_arguments(name) for name in item.split("/")] for item in items.split()]

    def words(call: Call) -> str:
        found = (next((some for one in item if (some := one(call))), ()) for item in alternatives)
        shown = between.join(text for some in found for text in some)
        return raised(shown) if to_raise else shown

    return words


def _arguments(name: str) -> Callable[[Call], list[str]]:
    """What gives the arguments, those that are filled, that a name in a field stands for."""
    if name == "NAME":
        return lambda call: [call[0].upper()]
    if (places := _PLACES.fullmatch(name)) is None:
        return lambda call: [text] if (text := call[2].get(name)) else []
    first = int(places["first"])
    last = int(places["last"] or -1) if places["on"] else first
    begin = first - 1 if first > 0 else first
    end = last if last > 0 else last + 1 or None

    def given(call: Call) -> list[str]:
        values = [text for text in call[1] if text] if places["filled"] else call[1]
        return [text for text in values[begin:end] if text]

    return given


def _patterns(rows: Iterable[Sequence[str]]) -> Mapping[str, Sequence[_Pattern]]:
    found: dict[str, list[_Pattern]] = defaultdict(list)
    for text, *names in rows:
        pattern = _Pattern(text)
        for name in names:
            found[name].append(pattern)
    return dict(found)


def _shown(patterns: Sequence[_Pattern], call: Call) -> str:
    """What the first of the patterns that are filled shows; "" if none is."""
    return next((shown for pattern in patterns if (shown := pattern.filled(call)) is not None), "")


def raised(text: str) -> str:
    """A superscript: digits and signs as such, other texts as they are."""
    return text.translate(_RAISED)


def is_power(text: str) -> bool:
    """Whether it is a number that can be written raised."""
    return re.fullmatch(r"[-−+]?\d{1,4}[-−+]?", text) is not None


# Amounts: `convert` and `val`, with the names of their units.
#
# The arguments are those that the documentation of the two templates on English Wikipedia describes; other wikis have
# copies of them. Of `convert`, the amount as it was written is shown, and not the converted one.

_AMOUNT = re.compile(r"[-−–+±]?\s*(?:\d[\d., ]*)?(?:e[-+]?\d+)?(?:(?<=\d)\+)?(?:\d+//?\d+)?")
_BETWEEN = _by_name(_DATA["between"])
_POWERS = {"3": "thousand", "6": "million", "9": "billion", "12": "trillion", "15": "quadrillion"}
_COUNTS = {"k": "thousand", "M": "million", "G": "billion", "T": "trillion"}
_LENGTHS, _NAMED, _SIGNS = (_by_name(_DATA[rows]) for rows in ("lengths", "units", "unit_signs"))
_NATIONS = {"US": "US ", "us": "US ", "imp": "imperial "}
_TIMES = {"s": "second", "min": "minute", "h": "hour", "d": "day", "a": "year", "yr": "year"}
_METRIC = frozenset({"m", "km", "cm", "mm", "dm"})
_SQUARE, _CUBIC = ("sq", "square"), ("cu", "cubic")
_PARTS = frozenset(_DATA["unit_parts"])
_SYMBOL = re.compile(r"(?P<base>[^\W\d_]+|°[CF])(?P<power>[2-4]|-[1-4])?")


def _amount_in_units(values: Sequence[str], named: Mapping[str, str]) -> str:
    """What `convert` shows of its amount: "6 ft 4 in" of 6|ft|4|in|m, "8–12 km" of 8|-|12|km|mi."""
    rest = list(values)
    shown: list[str] = []
    while rest:
        amount, one = _amount(rest)
        if not amount:
            break
        unit = _unit_name(rest.pop(0), one=one) if rest else ""
        if named.get("disp") == "unit":
            return unit
        shown.append(f"{amount} {unit}".strip())
        if len(rest) < 2 or not _is_amount(rest[0]) or rest[1] not in _PARTS:
            break
    return " ".join(shown) or " ".join(values[:1])


def _amount(rest: list[str]) -> tuple[str, bool]:
    """The amount or amounts before a unit, taken off the arguments, and whether it is one."""
    if not _is_amount(rest[0]):
        return "", False
    first = rest.pop(0)
    shown = _plain_number(first)
    between = False
    while len(rest) > 1 and (word := _BETWEEN.get(rest[0].casefold().strip())) and _is_amount(rest[1]):
        shown += word + _plain_number(rest[1])
        del rest[:2]
        between = True
    return shown, not between and first.strip() in {"1", "-1", "−1"}


def _is_amount(text: str) -> bool:
    return bool(re.search(r"\d", text)) and _AMOUNT.fullmatch(text.strip()) is not None


def _plain_number(text: str) -> str:
    """ "1 1/2" of "1+1/2", "5 × 10⁶" of "5e6"; others as they are."""
    text = re.sub(r"(?<=\d)\+(?=\d)", " ", text.strip()).replace("//", "/")
    return re.sub(r"(?<=\d)e([-+]?\d+)", lambda match: f" × 10{raised(match[1].lstrip('+'))}", text)


def _unit_name(code: str, *, one: bool = False) -> str:
    """The name of a unit by its code in Module:Convert: "million barrels" of "Moilbbl", "m²" of "m2".

    Codes that are common signs, such as "km", stay.

    Args:
        one: in the singular.
    """
    code = code.strip()
    for pattern, told in _COMPOSED:
        if found := pattern.fullmatch(code):
            return told(found, one) or code
    return _simple(code, one=one)


def _counted(names: str, *, one: bool) -> str:
    """The name of one unit, or of several, as templates.toml has the two."""
    single, _, several = names.partition("|")
    return single if one else several or f"{single}s"


def _of_nation(found: re.Match[str], one: bool) -> str:
    """A unit that two countries have: "US gallons"."""
    names = _NAMED.get(found[2]) or _LENGTHS.get(found[2])
    return _NATIONS[found[1]] + _counted(names, one=one) if names else _simple(found[0], one=one)


_COMPOSED: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], bool], str]], ...] = (
    (re.compile(r"(.+)-change"), lambda found, one: _unit_name(found[1], one=one)),
    (re.compile(r"e(3|6|9|12|15)(.+)"), lambda found, _: f"{_POWERS[found[1]]} {_unit_name(found[2])}"),
    (re.compile(r"([kMGT])(?:oilbbl|bbl)"), lambda found, _: f"{_COUNTS[found[1]]} barrels"),
    (re.compile(r"PD/(.+)"), lambda found, one: f"{'person' if one else 'people'} per {_per(found[1])}"),
    (re.compile(r"mpg-?(US|us|imp)"), lambda found, _: f"miles per {_NATIONS[found[1]]}gallon"),
    (re.compile(r"(US|us|imp)([a-z]+)"), _of_nation),
)


def _simple(code: str, *, one: bool) -> str:
    if code in _SIGNS or code in _NAMED:
        return _SIGNS.get(code) or _counted(_NAMED[code], one=one)
    if power := _in_words(code, one=one):
        return power
    above, slash, below = code.partition("/")
    if slash and above and below:
        if _is_worded(above) or _is_worded(below):
            return f"{_unit_name(above, one=one)} per {_per(below)}"
        return f"{_simple(above, one=one)}/{_simple(below, one=True)}"
    if "." in code and all(code.split(".")):
        return "·".join(_simple(part, one=one) for part in code.split("."))
    found = _SYMBOL.fullmatch(code)
    return found["base"] + raised(found["power"] or "") if found else code


def _in_words(code: str, *, one: bool) -> str:
    """The name of a square or cubic unit: of "sqmi", "mi2", "sqkm"; "" of others."""
    for (short, word), power in ((_SQUARE, "2"), (_CUBIC, "3")):
        base = code.removeprefix(short)
        if base != code and base in _METRIC:
            return base + raised(power)
        base = base if base != code else code.removesuffix(power)
        if base != code and base in _LENGTHS:
            return f"{word} {_counted(_LENGTHS[base], one=one)}"
    return ""


def _per(code: str) -> str:
    """The unit below a line, as in "per square mile"."""
    return _TIMES.get(code) or _unit_name(code, one=True)


def _is_worded(code: str) -> bool:
    """Whether its name is words, so that a stroke would not do."""
    return " " in _unit_name(code) or (code in _NAMED and code not in {"mi", "h"})


def _value_with_error(values: Sequence[str], named: Mapping[str, str]) -> str:
    """What `val` shows: "6.241 × 10¹⁸ C", "1.00794 ± 0.00007", "1.23(7) m/s"."""
    filled = [text for text in values if text]
    if not filled and not named.get("e"):
        return ""
    shown = filled[0] if filled else ""
    if len(filled) > 2:
        shown += f" +{filled[1].lstrip('+')} −{filled[2].lstrip('-−')}"
    elif len(filled) > 1:
        shown += filled[1] if filled[1].startswith("(") else f" ± {filled[1]}"
    elif error := named.get("err", ""):
        shown += f" ± {error}"
    if exponent := named.get("e", ""):
        power = f"10{raised(exponent)}"
        shown = f"({shown}) × {power}" if "±" in shown else f"{shown} × {power}" if shown else power
    unit = named.get("ul") or named.get("u") or ""
    below = named.get("upl") or named.get("up") or ""
    unit = f"{_of_val(unit)}/{_of_val(below)}" if below else _of_val(unit)
    before, behind = named.get("p", ""), named.get("s", "")
    between = "" if unit[:1] in {"%", "°", "′", "″"} and unit not in {"°C", "°F"} else " "
    return f"{before}{shown}{behind}{between}{unit}".strip()


def _of_val(code: str) -> str:
    """A unit of `val`, which has the signs of physics: "C" is the coulomb."""
    return re.sub(r"(?<=[^\W\d_])([-−]?[2-4])\b", lambda match: raised(match[1]), code)


# Money, dates and coordinates.

_CURRENCIES = _by_name(_DATA["currencies"])
_INDIAN = _by_name(_DATA["indian_sizes"])
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_YEAR = re.compile(r"\d{3,4}")
_DAY = re.compile(r"0?[1-9]|[12]\d|3[01]")
_MONTH = re.compile(r"0?[1-9]|1[0-2]")
_MONTH_NAME = re.compile(r"[^\W\d_]{3,12}\.?")
_AGE = re.compile(r"age\b(?! and)|time ago\b|ago\b")
_OF_DATES = re.compile(r"\b(?:date|dts|dob|dod|year)\b")
COORDINATES = frozenset({"coord", "coords", "coor", "coor d", "coor dm", "coor dms", "coordinate", "coordinates"})
_LETTERS = {"N": "N", "S": "S", "E": "E", "O": "E", "W": "W"}  # O: east in German, and nothing else in such a place
_MARKS = "°′″"


def _date(name: str, values: Sequence[str]) -> str:
    """The date that begins the arguments, known by their form: year, month, day, or day, month, year."""
    first, second, third = [*values[:3], "", "", ""][:3]
    in_english = bool(_OF_DATES.search(name))  # by its name
    shown = ""
    if _AGE.match(name):
        pass
    elif _DAY.fullmatch(first) and _YEAR.fullmatch(third):
        if _MONTH.fullmatch(second):
            shown = f"{third}-{int(second):02}-{int(first):02}"
        elif _MONTH_NAME.fullmatch(second):
            shown = f"{first} {second} {third}"
    elif _YEAR.fullmatch(first):
        month = int(second) if _MONTH.fullmatch(second) else 0
        day = int(third) if month and _DAY.fullmatch(third) else 0
        if in_english:
            words = (str(day) if day else "", MONTHS[month - 1] if month else "", first)
            shown = " ".join(filter(None, words))
        elif day:
            shown = f"{first}-{month:02}-{day:02}"
    return shown


def _money(code: str, values: Sequence[str]) -> str:
    """An amount with the sign of its currency, by the code or the sign, in lower case: "₹2 crore"."""
    sign = _CURRENCIES.get(code, f"{code.upper()} ")
    amount = values[0] if values[0].startswith(sign.strip()) else sign + values[0]
    size = _INDIAN.get(values[1].casefold()) if code == "inrconvert" and len(values) > 1 else None
    return f"{amount} {size}" if size else amount


def _of_currency(values: Sequence[str], named: Mapping[str, str]) -> str:
    """{{currency|amount|code}}."""
    amount = named.get("amount") or (values[0] if values else "")
    code = named.get("type") or (values[1] if len(values) > 1 else "")
    return _money(code.casefold(), [amount]) if amount and code else amount


def _as_of(values: Sequence[str], named: Mapping[str, str]) -> str:
    """{{as of|year|month|day}}, which begins a sentence unless it says `lc`."""
    filled = [text for text in values if text]
    if not filled or named.get("alt"):
        return named.get("alt", "")
    words = "Since" if named.get("since") else "As of"
    words = words.lower() if named.get("lc") or named.get("pre") else words
    date = _date("date", filled) or " ".join(reversed(filled[:3]))
    return " ".join(filter(None, (named.get("pre", ""), words, date))) + named.get("post", "")


def coordinates(values: Sequence[str], named: Mapping[str, str]) -> str:
    """A place's latitude and longitude as text: "51.5° N, 0.13° W"; "" where they are none.

    Takes degrees with a sign, degrees, minutes and seconds each with the letter behind them, and the same between
    slashes, as one argument each ("NS=51/30/N").
    """
    both = [named[key] for key in ("ns", "ew") if key in named]
    parts = [part.strip().replace("\N{MINUS SIGN}", "-") for value in (both or values) for part in value.split("/")]
    numbers: list[str] = []
    found: list[str] = []
    for part in parts:
        letter = _LETTERS.get(part.upper())
        if letter and numbers:
            found.append(_angle(numbers, letter))
            numbers = []
        elif _NUMBER.fullmatch(part) and len(numbers) < len(_MARKS):
            numbers.append(part)
        elif part:
            break
        if len(found) == 2:
            break
    if not found and len(numbers) >= 2:
        found = [
            _angle([number.removeprefix("-")], letters[number.startswith("-")])
            for number, letters in zip(numbers, ("NS", "EW"), strict=False)
        ]
    if len(found) != 2 or "" in found or found[0][-1] not in "NS" or found[1][-1] not in "EW":
        return ""
    return ", ".join(found)


def _angle(numbers: Sequence[str], letter: str) -> str:
    most = 90 if letter in "NS" else 180
    if not 0 <= float(numbers[0]) <= most or any(not 0 <= float(number) <= 60 for number in numbers[1:]):
        return ""
    return "".join(number + mark for number, mark in zip(numbers, _MARKS, strict=False)) + f" {letter}"


# What a template shows by its name.

_LANGUAGE_CODE = re.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9]+)*")
_SOUND_LABELS = frozenset({"pron", "lang", "local", "label", "uk", "us", "au", "ca", "nz", "ie", "also", "or", "small"})
_OF_SOUNDS = re.compile(r"ipa(?:c)?-[a-z-]+|ipa|ipalink|ipaslink|ipa-all|ipablink")
_DATES = re.compile(
    r"(?:birth|death|start|end)[ -]date(?: and age| and given age)?|(?:birth|death)(?: year and age|-year)"
    r"|(?:film|release|launch) date|date|dts|bda|dda"
)
_LISTS = frozenset(_DATA["lists"])
_ANSWERS = [name for _, *names in _DATA["answers"] for name in names]
_UNDATED = _LISTS.union(_ANSWERS)  # their arguments are no date, whatever they look like
_IN_SENTENCES = _patterns([*_DATA["sentence"], ["{#1..|\n}", *_LISTS]])
_IN_CELLS = _patterns([*_DATA["cell"], ["{#1}", *_ANSWERS], *_DATA["answers"]])
_COMPUTED: dict[str, Callable[[Sequence[str], Mapping[str, str]], str]] = {
    **dict.fromkeys(("convert", "cvt", "convert/2", "convert/3", "convert/4"), _amount_in_units),
    **dict.fromkeys(("as of", "asof"), _as_of),
    "val": _value_with_error,
    "currency": _of_currency,
    "respell": lambda values, _: "-".join(text for text in values if text and text != "'"),
}
_KEPT = frozenset({*_IN_SENTENCES, *_COMPUTED, *_CURRENCIES})


def is_kept(name: str) -> bool:
    """Whether a template of this name, in lower case, shows words of its sentence."""
    return (
        name in _KEPT
        or name.startswith(("lang-", "formatnum:"))
        or _OF_SOUNDS.fullmatch(name) is not None
        or _DATES.fullmatch(name) is not None
    )


def kept_text(name: str, values: Sequence[str], named: Mapping[str, str]) -> str:
    """The words that a template shows in its sentence; may be empty.

    Args:
        name: in lower case.
        values: its positional arguments, rendered, and `named` the others, with names in lower case.
    """
    if name.startswith("formatnum:"):
        return name.partition(":")[2].strip()
    if name in _COMPUTED:
        return _COMPUTED[name](values, named)
    if name in _IN_SENTENCES:
        return _shown(_IN_SENTENCES[name], (name, values, named))
    filled = [text for text in values if text]
    if _OF_SOUNDS.fullmatch(name):
        return _sounds(name, filled)
    if name in _CURRENCIES:
        return _money(name, filled) if filled else ""
    return _date(name, filled) if _DATES.fullmatch(name) else "".join(filled[:1])


def value_text(name: str, values: Sequence[str], named: Mapping[str, str]) -> str:
    """The words that a template shows in a cell or field, beside those of :func:`kept_text`; "" if there are none."""
    dated = "" if name in _UNDATED else _date(name, [text for text in values if text])
    return dated or _shown(_IN_CELLS.get(name, ()), (name, values, named))


def _sounds(name: str, filled: Sequence[str]) -> str:
    """Sounds in the alphabet of phonetics: those of words of English between strokes, of other words in brackets."""
    if name.startswith("ipac-"):
        spelled = [text for text in filled if text.casefold() not in _SOUND_LABELS]
        sound = "".join(spelled).replace(",_", ", ").replace("_", " ").strip()
        return f"/{sound}/" if sound else ""
    if name == "ipa" and len(filled) > 1 and _LANGUAGE_CODE.fullmatch(filled[0]):
        filled = filled[1:]
        name = "ipa-"
    if not filled:
        return ""
    if name.startswith("ipa-") and not filled[0].startswith(("[", "/")):
        return f"[{filled[0]}]"
    return f"/{filled[0]}/" if name == "ipaslink" else filled[0]
