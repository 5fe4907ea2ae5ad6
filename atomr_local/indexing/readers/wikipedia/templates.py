"""Templates of wikitext: the words that they show in sentences, tables and infoboxes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from atomr_local.language.literals import MONTHS

# What the templates of amounts show: `convert` and `val`, with the names of their units.
#
# The arguments are those that the documentation of the two templates on English Wikipedia describes; other wikis have
# copies of them. Of `convert`, the amount as it was written is shown, and not the converted one.

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


# What templates show in cells of tables and fields of infoboxes: dates, lists, flags, amounts, and coordinates.

LISTS = frozenset(
    {"ubl", "ubil", "unbulleted list", "bulleted list", "plainlist", "plain list", "flatlist", "flat list", "hlist"}
    | {"csv", "cslist", "collapsible list", "br separated entries", "comma separated entries", "indented plainlist"}
)
_FIRST = frozenset(
    {"url", "official url", "official website", "flag", "flagu", "flagcountry", "flag country", "flaglink", "country"}
    | {"flagathlete", "fb", "fbw", "nts", "number table sorting", "dts", "birth-date", "death-date", "yes2", "no2"}
    | {"birth-date and age", "death-date and age", "start-date", "end-date", "email", "linktext", "nsmdns", "center"}
)
_LAST = frozenset({"sort", "align", "color", "colour", "font color", "hidden sort key", "abbrlink", "nobots"})
_SAID = {
    "yes": "Yes", "no": "No", "won": "Won", "nom": "Nominated", "nominated": "Nominated", "n/a": "N/A", "na": "N/A",
    "tba": "TBA", "tbd": "TBD", "tick": "Yes", "cross": "No", "ya": "Yes", "na2": "No", "dunno": "?",
}  # fmt: skip
# Names of templates, which are codes of currencies and signs → what stands before the amount.
CURRENCIES = {
    "us$": "US$", "usd": "US$", "usdollar": "US$", "$": "$", "gbp": "£", "£": "£", "pound sterling": "£", "eur": "€",
    "€": "€", "euro": "€", "inr": "₹", "₹": "₹", "indian rupee": "₹", "inrconvert": "₹", "jpy": "¥", "¥": "¥",
    "cny": "CN¥", "cn¥": "CN¥", "rmb": "CN¥", "aud": "A$", "a$": "A$", "au$": "A$", "cad": "C$", "ca$": "C$",
    "c$": "C$", "nzd": "NZ$", "nz$": "NZ$", "hkd": "HK$", "hk$": "HK$", "sgd": "S$", "s$": "S$", "twd": "NT$",
    "nt$": "NT$", "mxn": "MX$", "brl": "R$", "r$": "R$", "krw": "₩", "₩": "₩", "php": "₱", "₱": "₱",
    "philippine peso": "₱",
    "rub": "₽", "₽": "₽", "try": "₺", "uah": "₴", "ngn": "₦", "ils": "₪", "nis": "₪", "vnd": "₫", "thb": "฿",
    "bdt": "৳", "pkr": "PKR ", "lkr": "LKR ", "npr": "NPR ", "zar": "R", "chf": "CHF ", "sek": "SEK ", "nok": "NOK ",
    "dkk": "DKK ", "pln": "PLN ", "czk": "CZK ", "huf": "HUF ", "idr": "Rp ", "myr": "RM ", "aed": "AED ",
    "sar": "SAR ",
    "egp": "E£", "kes": "KSh ", "ghs": "GH₵", "irr": "IRR ", "frf": "₣", "dem": "DM ", "itl": "₤",
}  # fmt: skip
# What {{INRConvert|100|c}} calls its amount.
_INDIAN = {
    "k": "thousand",
    "l": "lakh",
    "c": "crore",
    "lc": "lakh crore",
    "m": "million",
    "b": "billion",
    "t": "trillion",
}
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


def value_text(name: str, values: Sequence[str], named: Mapping[str, str]) -> str:
    """The words that a template shows in a cell or field; "" if it is none of these.

    Args:
        name: in lower case.
        values: its positional arguments, rendered.
    """
    filled = [value for value in values if value]
    shown = ""
    if name in LISTS:
        shown = "\n".join(filled)
    elif name in _SAID:
        shown = filled[0] if filled else _SAID[name]
    elif not filled:
        shown = _height(named) if name == "height" else ""
    elif date := date_text(name, filled):
        shown = date
    elif name in _FIRST:
        shown = filled[0]
    elif name in _LAST:
        shown = filled[-1]
    elif name in CURRENCIES:
        shown = money(name, filled)
    elif name in {"sortname", "sort name"}:
        shown = " ".join(values[:2]).strip()
    elif name == "marriage":
        until = "–".join(filled[1:3])
        shown = f"{filled[0]} ({until})" if until else filled[0]
    return shown


def date_text(name: str, values: Sequence[str]) -> str:
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


def money(code: str, values: Sequence[str]) -> str:
    """An amount with the sign of its currency, by the code or the sign, in lower case: "₹2 crore"."""
    sign = CURRENCIES.get(code, f"{code.upper()} ")
    amount = values[0] if values[0].startswith(sign.strip()) else sign + values[0]
    size = _INDIAN.get(values[1].casefold()) if code == "inrconvert" and len(values) > 1 else None
    return f"{amount} {size}" if size else amount


def _height(named: Mapping[str, str]) -> str:
    parts = [(named.get(unit, ""), unit) for unit in ("m", "cm", "ft", "in")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number)


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
        north, east = numbers[:2]
        found = [_signed(north, "N", "S"), _signed(east, "E", "W")]
    if len(found) != 2 or "" in found or found[0][-1] not in "NS" or found[1][-1] not in "EW":
        return ""
    return ", ".join(found)


def _angle(numbers: Sequence[str], letter: str) -> str:
    most = 90 if letter in "NS" else 180
    if not 0 <= float(numbers[0]) <= most or any(not 0 <= float(number) <= 60 for number in numbers[1:]):
        return ""
    return "".join(number + mark for number, mark in zip(numbers, _MARKS, strict=False)) + f" {letter}"


def _signed(number: str, above: str, below: str) -> str:
    return _angle([number.removeprefix("-")], below if number.startswith("-") else above)


# The words that templates show in their sentences: names in other languages, sounds, amounts, money, dates, signs.

_FIRST_NAMES = frozenset(
    {"nowrap", "nobr", "small", "big", "em", "strong", "abbr", "nobold", "vanchor", "visible anchor", "tooltip"}
    | {"ill", "interlanguage link", "sic", "not a typo", "proper name", "smaller", "larger", "smallcaps", "sc", "mono"}
    | {"math", "mvar", "var", "api", "unicode", "code", "samp", "kbd", "tt", "no italic", "noitalic", "normal", "key"}
    | {"quote", "blockquote", "cquote", "quotation", "quote box", "poemquote", "poem quote", "pull quote", "pullquote"}
    | {"sub", "keypress", "key press", "num", "number", "track gauge", "railgauge", "flag", "flagu", "flagcountry"}
    | {"columns-list", "columns list", "col-list", "nsmdns", "white", "normalsize", "bigger", "resize x"}
)
_LAST_NAMES = frozenset({"transl", "transliteration", "script", "resize", "font color", "color", "colour", "translit"})
_SHIPS = frozenset({"uss", "hms", "ss", "rms", "hmas", "hmcs", "ms", "mv", "sms"})
_CHEMICAL = frozenset({"chem", "chem2", "ce"})
_BRACKETS = {"angbr": "⟨{}⟩", "angbr ipa": "⟨{}⟩", "angle bracket": "⟨{}⟩"}
_PREFIXED = {"circa": "c.", "c.": "c.", "ca.": "c.", "floruit": "fl.", "fl.": "fl.", "reign": "r.", "r.": "r."}
_DATES = frozenset(
    {f"{what}{between}date{age}" for what in ("birth", "death", "start", "end") for between in " -"
     for age in ("", " and age", " and given age")}
    | {"film date", "release date", "launch date", "date", "dts", "bda", "dda"}
    | {"birth year and age", "death year and age", "birth-year", "death-year"}
)  # fmt: skip
# No straight apostrophe: beside another it would be markup.
_SHOWN_SIGNS = {
    "'": "’", "'s": "’s", "snd": " – ", "spnd": " – ", "spaced ndash": " – ", "spaced en dash": " – ",
    "ndash": "–", "en dash": "–", "mdash": "—", "em dash": "—", "mdashb": "—", "spaced mdash": " — ", "nbsp": " ",
    "spaces": " ", "space": " ", "thinsp": " ", "zwsp": "", "shy": "", "·": " · ", "•": " • ", "dot": " · ",
    "middot": " · ", "bull": " • ", "bullet": " • ", "!": "|", "=": "=", "minus": "−", "times": "×", "pm": "±",
    "eqm": "⇌", "ellipsis": "…", "...": "…", "degree": "°", "prime": "′", "section sign": "§",
}  # fmt: skip
_FRACTIONS = frozenset({"frac", "sfrac", "fraction"})
_LANGUAGE_CODE = re.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9]+)*")
_SOUND_LABELS = frozenset({"pron", "lang", "local", "label", "uk", "us", "au", "ca", "nz", "ie", "also", "or", "small"})
_OF_SOUNDS = re.compile(r"ipa(?:c)?-[a-z-]+|ipa|ipalink|ipaslink|ipa-all|ipablink")
_AS_OF = frozenset({"as of", "asof"})


def is_kept(name: str) -> bool:
    """Whether a template of this name, in lower case, shows words of its sentence."""
    return name in _KEPT or name.startswith(("lang-", "formatnum:")) or _OF_SOUNDS.fullmatch(name) is not None


def kept_text(name: str, values: Sequence[str], named: Mapping[str, str]) -> str:
    """The words that a template shows in its sentence; may be empty.

    Args:
        name: in lower case.
        values: its positional arguments, rendered, and `named` the others, with names in lower case.
    """
    if name.startswith("formatnum:"):
        return name.partition(":")[2].strip()
    if name in _SHOWN:
        return _SHOWN[name](values, named)
    if _OF_SOUNDS.fullmatch(name):
        return _sounds(name, values)
    filled = [text for text in values if text]
    if not filled or name in _SHOWN_SIGNS:
        return _SHOWN_SIGNS.get(name, "")
    return _of_filled(name, values, filled)


def _of_filled(name: str, values: Sequence[str], filled: Sequence[str]) -> str:
    shown = filled[0]
    if name in _PREFIXED:
        between = "–" if name in {"reign", "r.", "floruit", "fl."} else " – c. "
        shown = f"{_PREFIXED[name]} {between.join(filled[:2])}"
    elif name in _SHIPS:
        shown = f"{name.upper()} {shown}"
    elif name in _LAST_NAMES:
        shown = filled[-1]
    elif name in LISTS:
        shown = "\n".join(filled)
    elif name in _DATES:
        shown = date_text(name, filled)
    elif name in _CHEMICAL:
        shown = "".join(values)
    elif name in _BRACKETS:
        shown = _BRACKETS[name].format(shown.replace("{", "").replace("}", ""))
    elif name in CURRENCIES:
        shown = money(name, filled)
    elif name == "ship":
        shown = " ".join(values[:2])
    return shown


def _in_language(values: Sequence[str], named: Mapping[str, str]) -> str:
    """{{lang|code|words}} and {{langx|code|words|transliteration|meaning}}."""
    words = [*values[1:2], *values[2:3]] if len(values) > 1 else []
    shown = [named.get("text") or "", *words, named.get("translit") or named.get("tr") or ""]
    meaning = (values[3] if len(values) > 3 else "") or named.get("lit") or named.get("translation") or ""
    shown.append(f"'{meaning}'" if meaning else "")
    return ", ".join(filter(None, shown))


def _nihongo(values: Sequence[str], _named: Mapping[str, str]) -> str:
    """{{nihongo|English|kanji|romaji|more}}."""
    english, *others = [*values, ""]
    inside = ", ".join(filter(None, others[:2]))
    if not english:
        return inside
    return f"{english} ({inside})" if inside else english


def _fraction(values: Sequence[str], _named: Mapping[str, str]) -> str:
    """{{frac|4}} is a quarter, {{frac|3|4}} three of them, {{frac|1|3|4}} one more."""
    filled = [text for text in values if text]
    if len(filled) == 1:
        return f"1/{filled[0]}"
    return " ".join([*filled[:-2], "/".join(filled[-2:])])


def _as_of(values: Sequence[str], named: Mapping[str, str]) -> str:
    """{{as of|year|month|day}}, which begins a sentence unless it says `lc`."""
    filled = [text for text in values if text]
    if not filled and not named.get("alt"):
        return ""
    if named.get("alt"):
        return named["alt"]
    words = "Since" if named.get("since") else "As of"
    words = words.lower() if named.get("lc") or named.get("pre") else words
    date = date_text("date", filled) or " ".join(reversed(filled[:3]))
    return " ".join(filter(None, (named.get("pre", ""), words, date))) + named.get("post", "")


def _superscript(values: Sequence[str], _named: Mapping[str, str]) -> str:
    return raised(values[0]) if values else ""


def _power_of_ten(values: Sequence[str], _named: Mapping[str, str]) -> str:
    return f"10{raised(values[0])}" if values and values[0] else ""


def _times_power_of_ten(values: Sequence[str], named: Mapping[str, str]) -> str:
    return f" × {_power_of_ten(values, named)}" if values and values[0] else ""


def _of_currency(values: Sequence[str], named: Mapping[str, str]) -> str:
    """{{currency|amount|code}}."""
    amount = named.get("amount") or (values[0] if values else "")
    code = named.get("type") or (values[1] if len(values) > 1 else "")
    return money(code.casefold(), [amount]) if amount and code else amount


def _old_style_date(values: Sequence[str], _named: Mapping[str, str]) -> str:
    """{{OldStyleDate|day and month|year|the day in the Julian calendar}}."""
    return " ".join(text for text in values[:2] if text)


def _respelled(values: Sequence[str], _named: Mapping[str, str]) -> str:
    return "-".join(text for text in values if text and text != "'")


def _native_name(values: Sequence[str], _named: Mapping[str, str]) -> str:
    return values[1] if len(values) > 1 else ""


def _nuclide(values: Sequence[str], _named: Mapping[str, str]) -> str:
    return "-".join(text for text in values[:2] if text)


def _sounds(name: str, values: Sequence[str]) -> str:
    """Sounds in the alphabet of phonetics: those of words of English between strokes, of other words in brackets."""
    filled = [text for text in values if text]
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


def _gaps(values: Sequence[str], named: Mapping[str, str]) -> str:
    return "".join(values) + (f" × 10{raised(named['e'])}" if named.get("e") else "")


_SHOWN: dict[str, Callable[[Sequence[str], Mapping[str, str]], str]] = {
    **dict.fromkeys(MEASURES, converted),
    **dict.fromkeys(_FRACTIONS, _fraction),
    **dict.fromkeys(_AS_OF, _as_of),
    **dict.fromkeys(("simplenuclide", "simplenuclide2", "nuclide"), _nuclide),
    "val": value, "lang": _in_language, "langx": _in_language, "nihongo": _nihongo, "sup": _superscript,
    "10^": _power_of_ten, "e": _times_power_of_ten, "respell": _respelled, "currency": _of_currency,
    "oldstyledate": _old_style_date, "native name": _native_name, "gaps": _gaps,
}  # fmt: skip
_KEPT = (
    _FIRST_NAMES | _LAST_NAMES | _SHIPS | _CHEMICAL | _DATES | LISTS
    | _BRACKETS.keys() | _PREFIXED.keys() | _SHOWN_SIGNS.keys() | _SHOWN.keys() | CURRENCIES.keys() | {"ship"}
)  # fmt: skip
