"""What the templates of amounts show: `convert` and `val`, with the names of their units.

The arguments are those that the documentation of the two templates on English Wikipedia describes; other wikis have
copies of them. Of `convert`, the amount as it was written is shown, and not the converted one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

MEASURES = frozenset({"convert", "cvt", "convert/2", "convert/3", "convert/4"})
_AMOUNT = re.compile(r"[-−–+±]?\s*(?:\d[\d., ]*)?(?:e[-+]?\d+)?(?:(?<=\d)\+)?(?:\d+//?\d+)?")
# Words between two amounts of one unit → how they are shown.
_BETWEEN = {
    "-": "–", "–": "–", "—": "–", "to": " to ", "to(-)": "–", "and": " and ", "and(-)": " and ", "or": " or ",
    "by": " by ", "by(x)": " by ", "x": " × ", "xx": " × ", "×": " × ", "*": " × ", "+": " + ", "+/-": " ± ",
    "±": " ± ",
    ",": ", ", ", and": ", and ", ", or": ", or ", "to about": " to about ", "through": " through ",
}  # fmt: skip
_POWERS = {"3": "thousand", "6": "million", "9": "billion", "12": "trillion", "15": "quadrillion"}
_COUNTS = {"k": "thousand", "M": "million", "G": "billion", "T": "trillion"}
_RAISED = str.maketrans("0123456789-−+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻⁺")
# Units of length, area and volume with names of their own: singular, plural.
_LENGTHS = {
    "ft": ("foot", "feet"), "foot": ("foot", "feet"), "in": ("inch", "inches"), "mi": ("mile", "miles"),
    "yd": ("yard", "yards"), "nmi": ("nautical mile", "nautical miles"),
}  # fmt: skip
_NAMED = {
    "acre": ("acre", "acres"), "chain": ("chain", "chains"), "furlong": ("furlong", "furlongs"),
    "rod": ("rod", "rods"), "fathom": ("fathom", "fathoms"), "hand": ("hand", "hands"), "mile": ("mile", "miles"),
    "yard": ("yard", "yards"), "inch": ("inch", "inches"), "feet": ("foot", "feet"), "pound": ("pound", "pounds"),
    "ounce": ("ounce", "ounces"), "ton": ("ton", "tons"), "tonne": ("tonne", "tonnes"), "stone": ("stone", "stone"),
    "st": ("stone", "stone"), "LT": ("long ton", "long tons"), "ST": ("short ton", "short tons"),
    "MT": ("tonne", "tonnes"), "cwt": ("hundredweight", "hundredweight"), "lbf": ("pound-force", "pounds-force"),
    "ozt": ("troy ounce", "troy ounces"), "carat": ("carat", "carats"), "grain": ("grain", "grains"),
    "kn": ("knot", "knots"), "nmi": ("nautical mile", "nautical miles"),
    "ly": ("light-year", "light-years"), "pc": ("parsec", "parsecs"),
    "kpc": ("kiloparsec", "kiloparsecs"), "Mpc": ("megaparsec", "megaparsecs"),
    "AU": ("astronomical unit", "astronomical units"), "hp": ("horsepower", "horsepower"),
    "hp-metric": ("metric horsepower", "metric horsepower"), "PS": ("metric horsepower", "metric horsepower"),
    "bhp": ("brake horsepower", "brake horsepower"), "ihp": ("indicated horsepower", "indicated horsepower"),
    "shp": ("shaft horsepower", "shaft horsepower"), "whp": ("wheel horsepower", "wheel horsepower"),
    "gal": ("gallon", "gallons"), "qt": ("quart", "quarts"), "pt": ("pint", "pints"), "bbl": ("barrel", "barrels"),
    "oilbbl": ("barrel", "barrels"), "floz": ("fluid ounce", "fluid ounces"),
    "bsh": ("bushel", "bushels"), "bu": ("bushel", "bushels"), "drygal": ("dry gallon", "dry gallons"),
    "mpg": ("mile per gallon", "miles per gallon"), "acre.ft": ("acre-foot", "acre-feet"),
    "acre.foot": ("acre-foot", "acre-feet"), "acre·ft": ("acre-foot", "acre-feet"),
    "ftlbf": ("foot-pound", "foot-pounds"), "ft.lbf": ("foot-pound", "foot-pounds"),
    "lbft": ("pound-foot", "pound-feet"), "lb.ft": ("pound-foot", "pound-feet"), "lbfft": ("pound-foot", "pound-feet"),
    "lbf.ft": ("pound-foot", "pound-feet"), "inlbf": ("inch-pound", "inch-pounds"), "TEU": ("TEU", "TEU"),
    "dunam": ("dunam", "dunams"), "hour": ("hour", "hours"), "year": ("year", "years"), "day": ("day", "days"),
}  # fmt: skip
_SIGNS = {
    "C": "°C",
    "F": "°F",
    "R": "°R",
    "degC": "°C",
    "degF": "°F",
    "uW": "μW",
    "um": "μm",
    "us": "μs",
    "kph": "km/h",
}
_NATIONS = {"US": "US ", "us": "US ", "imp": "imperial "}
_TIMES = {"s": "second", "min": "minute", "h": "hour", "d": "day", "a": "year", "yr": "year"}
_METRIC = frozenset({"m", "km", "cm", "mm", "dm"})
_SQUARE, _CUBIC = ("sq", "square"), ("cu", "cubic")
# Units in which the rest of an amount is told: "6 ft 4 in".
_PARTS = frozenset(
    {
        "in",
        "ft",
        "yd",
        "oz",
        "lb",
        "st",
        "chain",
        "ch",
        "furlong",
        "rd",
        "qtr",
        "cwt",
        "inch",
        "foot",
        "pt",
        "floz",
        "qt",
    }
)
_SYMBOL = re.compile(r"(?P<base>[^\W\d_]+|°[CF])(?P<power>[2-4]|-[1-4])?")


def raised(text: str) -> str:
    """A superscript: digits and signs as such, other texts as they are."""
    return text.translate(_RAISED)


def is_power(text: str) -> bool:
    """Whether it is a number that can be written raised."""
    return re.fullmatch(r"[-−+]?\d{1,4}[-−+]?", text) is not None


def converted(values: Sequence[str], named: Mapping[str, str]) -> str:
    """What `convert` shows of its amount: "6 ft 4 in" of 6|ft|4|in|m, "8–12 km" of 8|-|12|km|mi."""
    rest = list(values)
    shown: list[str] = []
    while rest:
        amount, one = _amount(rest)
        if not amount:
            break
        unit = unit_name(rest.pop(0), one=one) if rest else ""
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


def unit_name(code: str, *, one: bool = False) -> str:
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


def _of_nation(found: re.Match[str], one: bool) -> str:
    """A unit that two countries have: "US gallons"."""
    names = _NAMED.get(found[2]) or _LENGTHS.get(found[2])
    return _NATIONS[found[1]] + names[not one] if names else _simple(found[0], one=one)


def _density(found: re.Match[str], one: bool) -> str:
    return f"{'person' if one else 'people'} per {_per(found[1])}"


_COMPOSED: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], bool], str]], ...] = (
    (re.compile(r"(.+)-change"), lambda found, one: unit_name(found[1], one=one)),
    (re.compile(r"e(3|6|9|12|15)(.+)"), lambda found, _: f"{_POWERS[found[1]]} {unit_name(found[2])}"),
    (re.compile(r"([kMGT])(?:oilbbl|bbl)"), lambda found, _: f"{_COUNTS[found[1]]} barrels"),
    (re.compile(r"PD/(.+)"), _density),
    (re.compile(r"mpg-?(US|us|imp)"), lambda found, _: f"miles per {_NATIONS[found[1]]}gallon"),
    (re.compile(r"(US|us|imp)([a-z]+)"), _of_nation),
)


def _simple(code: str, *, one: bool) -> str:
    if code in _SIGNS or code in _NAMED:
        return _SIGNS.get(code) or _NAMED[code][not one]
    if power := _in_words(code, one=one):
        return power
    above, slash, below = code.partition("/")
    if slash and above and below:
        if _is_worded(above) or _is_worded(below):
            return f"{unit_name(above, one=one)} per {_per(below)}"
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
            return f"{word} {_LENGTHS[base][not one]}"
    return ""


def _per(code: str) -> str:
    """The unit below a line, as in "per square mile"."""
    return _TIMES.get(code) or unit_name(code, one=True)


def _is_worded(code: str) -> bool:
    """Whether its name is words, so that a stroke would not do."""
    return " " in unit_name(code) or (code in _NAMED and code not in {"mi", "h"})


def value(values: Sequence[str], named: Mapping[str, str]) -> str:
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
