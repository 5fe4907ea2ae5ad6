"""Parses dates and quantities: "6 July 1958", "October 5, 1987", "June 1956", "44 BC", "1,200 km²"."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from atomr_local.language import words
from atomr_local.language.words import any_of

_WORDS = words.number_words()
_MONTHS = _WORDS.months
_ANY_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_MONTH = rf"(?P<month>{_ANY_MONTH})\.?"
_ERA = r"(?:\s*(?P<era>bce|bc|b\.c\.e\.|b\.c\.|ce|ad|a\.d\.))?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_DATE_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?P<sign>[+-]?)(?P<year>\d{4,6})-(?P<month>\d{2})-(?P<day>\d{2})"
        r"(?:T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})?)?",
        r"(?P<sign>[+-]?)(?P<year>\d{4,6})-(?P<month>\d{2})",
        rf"(?:the\s+)?{_DAY}\s+(?:of\s+)?{_MONTH},?\s+(?:ad\s+)?(?P<year>\d{{1,4}}){_ERA}",
        rf"{_MONTH}\s+{_DAY},?\s+(?:ad\s+)?(?P<year>\d{{1,4}}){_ERA}",
        rf"{_MONTH},?\s+(?P<year>\d{{3,4}}){_ERA}",
        rf"(?P<sign>[+-]?)(?:ad\s+)?(?P<year>\d{{1,4}}){_ERA}",
    )
)


@dataclass(frozen=True, slots=True)
class Date:
    """A proleptic date at day, month or year precision; year 0 is 1 BC, as in XSD 1.1 and ISO 8601."""

    year: int
    month: int | None = None
    day: int | None = None

    @property
    def datatype(self) -> str:
        """Local name of the XSD type that holds this precision."""
        return "gYear" if self.month is None else "gYearMonth" if self.day is None else "date"

    @property
    def first(self) -> tuple[int, int, int]:
        """The first day that this may mean."""
        return self.year, self.month or 1, self.day or 1

    @property
    def last(self) -> tuple[int, int, int]:
        """The last day that this may mean."""
        month = self.month or 12
        return self.year, month, self.day or _days_in(self.year, month)

    @property
    def spoken(self) -> str:
        """As it is said: "18 April 1955", "April 1955", "44 BC"."""
        day = f"{self.day} " if self.day is not None else ""
        month = f"{calendar.month_name[self.month]} " if self.month is not None else ""
        return f"{day}{month}{self.year}" if self.year > 0 else f"{day}{month}{1 - self.year} BC"

    def __str__(self) -> str:
        sign, year = ("-", -self.year) if self.year < 0 else ("", self.year)
        parts = [f"{sign}{year:04d}", *(f"{part:02d}" for part in (self.month, self.day) if part is not None)]
        return "-".join(parts)


def _days_in(year: int, month: int) -> int:
    # The calendar repeats every 400 years; the standard library knows years 1 to 9999 only.
    return calendar.monthrange(2000 + year % 400, month)[1]


def parse_date(text: str, *, bare_year: bool = True) -> Date | None:
    """The date that the whole of `text` denotes, or None.

    Args:
        bare_year: whether one to four digits alone are a year.
    """
    stripped = text.strip()
    if not bare_year and stripped.lstrip("+-").isdigit():
        return None
    for form in _DATE_FORMS:
        match = form.fullmatch(stripped)
        if match is None:
            continue
        found = match.groupdict()
        year = int(found["year"])
        if (found.get("era") or "").casefold().startswith("b"):
            year = 1 - year
        if found.get("sign") == "-":
            year = -year
        month = _month(found.get("month"))
        day = int(found["day"]) if found.get("day") else None
        if month == 0 and day in (0, None):  # Wikidata writes 1950-00-00 for a bare year
            month, day = None, None
        if day == 0:
            day = None
        if (month is not None and not 1 <= month <= 12) or (day and month and day > _days_in(year, month)):
            return None
        return Date(year, month, day)
    return None


def _month(text: str | None) -> int | None:
    if not text:
        return None
    return int(text) if text.isdigit() else _MONTHS[text.casefold()]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit in normal form; the unit is empty for a bare number."""

    amount: Decimal
    unit: str = ""

    def in_base_unit(self) -> Quantity:
        """The same quantity in the base unit of its dimension; unknown units stay."""
        dimension = _UNITS.get(self.unit)
        return Quantity(self.amount * dimension[1], dimension[0]) if dimension else self

    def in_unit(self, unit: str) -> Quantity | None:
        """The same quantity in another unit, in normal form; None if the two measure different things.

        Temperatures convert between °C, °F and K; everything else by a factor.
        """
        if unit == self.unit:
            return self
        if self.unit in _KELVIN and unit in _KELVIN:
            factor, offset = _KELVIN[self.unit]
            kelvin = (self.amount + offset) * factor
            factor, offset = _KELVIN[unit]
            return Quantity(kelvin / factor - offset, unit)
        one, other = _UNITS.get(self.unit), _UNITS.get(unit)
        if one is None or other is None or one[0] != other[0]:
            return None
        return Quantity(self.amount * one[1] / other[1], unit)


# temperature unit → (size of a degree in kelvin, what to add to its zero): K = (t + offset) · size.
_KELVIN = {
    "K": (Decimal(1), Decimal(0)),
    "°C": (Decimal(1), Decimal("273.15")),
    "°F": (Decimal(5) / Decimal(9), Decimal("459.67")),
}
# unit → (base unit, factor). Temperatures are left out: they do not convert by a factor.
_UNITS: dict[str, tuple[str, Decimal]] = {
    unit: (base, Decimal(factor))
    for base, units in {
        "m": {"mm": "0.001", "cm": "0.01", "m": "1", "km": "1000", "mi": "1609.344", "yd": "0.9144", "ft": "0.3048",
              "in": "0.0254", "nmi": "1852", "au": "149597870700", "ly": "9460730472580800"},
        "m²": {"m²": "1", "km²": "1000000", "ha": "10000", "sq mi": "2589988.110336", "acre": "4046.8564224",
               "sq ft": "0.09290304"},
        "m³": {"m³": "1", "km³": "1000000000", "L": "0.001", "mL": "0.000001"},
        "kg": {"mg": "0.000001", "g": "0.001", "kg": "1", "t": "1000", "lb": "0.45359237", "oz": "0.028349523125"},
        "s": {"s": "1", "min": "60", "h": "3600", "d": "86400", "wk": "604800", "yr": "31557600"},
        "m/s": {"m/s": "1", "km/s": "1000", "km/h": "0.277777777777777777777777778", "mph": "0.44704"},
    }.items()
    for unit, factor in units.items()
}  # fmt: skip
_UNIT_NAMES = {
    "millimetre": "mm", "millimeter": "mm", "centimetre": "cm", "centimeter": "cm", "metre": "m", "meter": "m",
    "kilometre": "km", "kilometer": "km", "mile": "mi", "foot": "ft", "feet": "ft", "inch": "in", "inche": "in",
    "square metre": "m²", "square meter": "m²", "m2": "m²", "square kilometre": "km²", "square kilometer": "km²",
    "km2": "km²", "sq km": "km²", "hectare": "ha", "square mile": "sq mi", "gram": "g", "gramme": "g",
    "milligram": "mg", "kilogram": "kg", "kilo": "kg", "tonne": "t", "pound": "lb", "second": "s", "sec": "s",
    "minute": "min", "hour": "h", "hr": "h", "day": "d", "year": "yr", "astronomical unit": "au",
    "light year": "ly", "light-year": "ly", "percent": "%", "per cent": "%", "°c": "°C", "degree celsius": "°C",
    "degrees celsius": "°C", "u": "u", "da": "u", "people": "", "inhabitant": "", "person": "", "usd": "USD",
    "dollar": "USD", "us dollar": "USD", "euro": "EUR", "kelvin": "K", "k": "K", "degree fahrenheit": "°F",
    "degrees fahrenheit": "°F", "°f": "°F", "fahrenheit": "°F", "celsius": "°C", "yard": "yd", "nautical mile": "nmi",
    "square foot": "sq ft", "square feet": "sq ft", "sq mile": "sq mi",
    "square km": "km²", "square mi": "sq mi", "square m": "m²", "mi²": "sq mi", "mi2": "sq mi",
    "cubic metre": "m³", "cubic meter": "m³", "m3": "m³", "cubic kilometre": "km³", "cubic kilometer": "km³",
    "km3": "km³", "litre": "L", "liter": "L", "millilitre": "mL", "milliliter": "mL", "ounce": "oz", "week": "wk",
    "metric ton": "t", "kilometre per hour": "km/h", "kilometer per hour": "km/h", "kilometres per hour": "km/h",
    "kilometers per hour": "km/h", "kph": "km/h", "mile per hour": "mph", "miles per hour": "mph",
    "metre per second": "m/s", "meter per second": "m/s", "metres per second": "m/s", "meters per second": "m/s",
    "kilometre per second": "km/s", "kilometres per second": "km/s", "kilometers per second": "km/s",
}  # fmt: skip
_SCALES = _WORDS.scales
_NUMBER_WORDS = _WORDS.numbers | {"a": 1, "an": 1}
_HALF = re.compile(r"half an? (?=(?:hundred|thousand|million|billion|trillion)\b)", re.IGNORECASE)
_QUANTITY = re.compile(
    r"(?P<sign>[+\-−]?)(?P<currency>[$€£]?)\s*"
    r"(?P<number>\d{1,3}(?:[, \u00a0\u202f]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:e[+-]?\d{1,3})?|\.\d+)"
    r"(?:\s*(?P<scale>" + "|".join(_SCALES) + r")s?\b)?(?:\s*-?\s*(?P<unit>[^\d\s].{0,30}))?",
    re.IGNORECASE | re.DOTALL,
)


def unit_name(text: str) -> str | None:
    """The normal form of a unit ("" for plain counts), or None if it is not one we know."""
    name = " ".join(text.strip().rstrip(".").split())
    for form in (name, name.casefold(), name.casefold().removesuffix("s")):
        if form in _UNITS or form in _KELVIN or form in {"%", "USD", "EUR", "GBP"}:
            return form
        if form in _UNIT_NAMES:
            return _UNIT_NAMES[form]
    return None


def parse_quantity(text: str) -> Quantity | None:
    """The number, with scale and unit, that the whole of `text` denotes, or None."""
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        return None
    unit = {"$": "USD", "€": "EUR", "£": "GBP", "": ""}[match["currency"]]
    if match["unit"]:
        named = unit_name(match["unit"])
        if named is None:
            return None
        unit = named or unit
    amount = Decimal(re.sub(r"[, \u00a0\u202f]", "", match["number"]))
    amount *= _SCALES.get((match["scale"] or "").casefold(), 1)
    return Quantity(-amount if match["sign"] in ("-", "−") else amount, unit)


def number_words(text: str) -> str:
    """The text with a number written in words at its beginning in figures: "six million", "half a million" and
    "twenty-one days" become "6 million", "0.5 million" and "21 days"."""
    half = _HALF.match(text.strip())
    if half:
        return f"0.5 {text.strip()[half.end() :]}"
    first, _, rest = text.strip().partition(" ")
    tens, _, ones = first.casefold().partition("-")
    number = _NUMBER_WORDS.get(tens)
    if number is None or (tens in ("a", "an") and rest.partition(" ")[0].casefold() not in _SCALES):
        return text
    if ones:
        more = _NUMBER_WORDS.get(ones, 0)
        if number < 20 or number % 10 or not 0 < more < 10:
            return text
        number += more
    return f"{number} {rest}".strip()


def format_number(amount: Decimal) -> str:
    """Plain digits: no exponent, no trailing zeros after the point."""
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


# In running text a month has a capital letter: "may" and "march" are words too.
_WRITTEN_MONTH = "(?:" + "|".join(month.capitalize() for month in sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_NTH = r"(?:\d{1,2}(?:st|nd|rd|th)|" + "|".join(sorted(_WORDS.ordinals, key=len, reverse=True)) + ")"
_DATES = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_WRITTEN_MONTH},? \d{{3,4}}"
    rf"|{_WRITTEN_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{3,4}}|{_WRITTEN_MONTH},? \d{{4}}|\d{{4}}-\d{{2}}-\d{{2}}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_WRITTEN_MONTH}|{_WRITTEN_MONTH} \d{{1,2}}(?:st|nd|rd|th)?"
    rf"|\d{{1,4}} (?:BCE?|CE|AD)|AD \d{{1,4}}|\d{{3}}0s|{_NTH} century(?: BCE?| CE| AD)?|\d{{4}})\b"
)


def dates_in(texts: Iterable[str]) -> tuple[str, ...]:
    """Dates, years, decades and centuries as they are written in the texts, each once, in order.

    A date's year also stands by itself.
    """
    found: dict[str, None] = {}
    for text in texts:
        for match in _DATES.finditer(text):
            found.setdefault(match[0])
            for year in re.findall(r"\d{4}(?![-\ds])", match[0]):
                found.setdefault(year)
    return tuple(found)


# Full names of months, of each the longest: the others are abbreviations.
_LONGEST = {number: name for name, number in sorted(_MONTHS.items(), key=lambda named: len(named[0]))}
MONTHS = tuple(_LONGEST[number].capitalize() for number in range(1, 13))
MONTH = f"(?:{'|'.join(MONTHS)})"
# "May", "3 May", "May 3," before a year.
DAY_AND_MONTH = rf"(?:\d{{1,2}} )?{MONTH}(?: \d{{1,2}},?)?"

# Dates that a text writes with a month or a season: their words name no place and no person.
#
# "born in October 1813", "3 May 1901", "in the autumn of 1920". A date that a capitalised word follows may be part
# of a name ("September 11 Memorial") and is left alone, unless a word such as "in" says that it is a time.

_SEASON = "(?:" + "|".join(f"[{season[0]}{season[0].upper()}]{season[1:]}" for season in _WORDS.seasons) + ")"
_DATED_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"\d{3,4}(?!\d)"
_PART = r"(?:(?:[Ee]arly|[Mm]id|[Ll]ate)[ -])?"
_DATED = re.compile(
    rf"\b{_PART}(?:{_DATED_DAY} (?:of )?{_WRITTEN_MONTH}(?:,? (?:of )?{_YEAR})?"
    rf"|{_WRITTEN_MONTH} {_DATED_DAY}(?:,? {_YEAR})?|(?:{_WRITTEN_MONTH}|{_SEASON})(?:,| of)? {_YEAR})(?![\w’'-])"
)
_CAPITALISED = re.compile(r" [^\W\d_a-z]")
_LAST_WORD = re.compile(r"(\w+)(?: the)?\s+$")


def between_dates(text: str) -> list[str]:
    """The text in pieces, without its dates."""
    pieces, start = [], 0
    for match in _DATED.finditer(text):
        if _is_time(text, match):
            pieces.append(text[start : match.start()])
            start = match.end()
    return [piece for piece in map(str.strip, [*pieces, text[start:]]) if piece]


def _is_time(text: str, match: re.Match[str]) -> bool:
    """Whether the date is one by itself, and not the beginning of a name."""
    before = _LAST_WORD.search(text, max(0, match.start() - 30), match.start())
    if before is not None and before[1].casefold() in _WORDS.before_dates:
        return True
    return _CAPITALISED.match(text, match.end()) is None


def only_in_dates(phrase: str, texts: Iterable[str]) -> bool:
    """Whether the phrase stands in the texts, and nowhere but in dates."""
    wanted = re.compile(rf"(?<!\w){re.escape(phrase)}(?!\w)")
    holding = [text for text in texts if wanted.search(text)]
    return bool(holding) and not any(wanted.search(piece) for text in holding for piece in between_dates(text))


# Parses periods: "1950", "March 1950", "the 1990s", "the 19th century", "1914–1918".

Day = tuple[int, int, int]

_YEARS_WORDS = re.compile(r"^(?:the\s+)?(?:year\s+|years\s+|month of\s+)", re.IGNORECASE)
_DECADE = re.compile(r"^(?:the\s+)?(?P<decade>\d{2,3})0['’]?s$", re.IGNORECASE)
# "the fifties", "the 50s": without its century.
_TENS = {f"{word[:-1]}ies": ten for word, ten in _WORDS.numbers.items() if ten >= 20}
_SHORT_DECADE = re.compile(
    rf"^(?:(?:in|of|from|during)\s+)?(?:the\s+)?['’]?(?:(?P<figure>[1-9])0['’]?s|(?P<word>{any_of(_TENS)}))$",
    re.IGNORECASE,
)
# The century that is meant where nothing tells another.
_CENTURY_MEANT = 1900
_CENTURY = re.compile(r"^(?:the\s+)?(?P<number>\d{1,2})(?:st|nd|rd|th) century(?P<bc> bce?)?$", re.IGNORECASE)
# An en dash, or a hyphen between years: 1950-03 is a month.
_FROM_TO = re.compile(
    r"^(?:from |between )?(?P<low>.+?)"
    r"(?:\s*[–—]\s*|\s+-\s+|\s+(?:to|and|until|till)\s+|(?<=\d{4})-(?=\d{4}$))(?P<high>.+)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of days, both ends included."""

    first: Day
    last: Day
    text: str


def parse_span(text: str) -> Span | None:
    """The days that a date, a decade ("the 1990s") or a century ("19th century") takes."""
    text = _YEARS_WORDS.sub("", text.strip())
    date = parse_date(text)
    if date is not None:
        # One or two digits are a count far more often than a year.
        return Span(date.first, date.last, text) if not text.isdigit() or len(text) > 2 else None
    decade = _DECADE.match(text)
    if decade:
        start = int(decade["decade"]) * 10
        return Span(Date(start).first, Date(start + 9).last, text)
    short = short_decade(text)
    if short is not None:
        start = _CENTURY_MEANT + short
        return Span(Date(start).first, Date(start + 9).last, text)
    century = _CENTURY.match(text)
    if century:
        number = int(century["number"])
        start = 1 - 100 * number if century["bc"] else 100 * (number - 1) + 1
        return Span(Date(start).first, Date(start + 99).last, text)
    return None


def short_decade(text: str) -> int | None:
    """The first year in its century of a decade without one: 50 for "the fifties" and "50s"; None for anything else."""
    match = _SHORT_DECADE.match(text.strip())
    if match is None:
        return None
    return int(match["figure"]) * 10 if match["figure"] else _TENS[match["word"].casefold()]


def parse_period(text: str) -> Span | None:
    """A span, or the stretch between two: "1914–1918", "from May 1940 to 1945"."""
    span = parse_span(text)
    if span is not None:
        return span
    match = _FROM_TO.match(text.strip())
    if match is None:
        return None
    low, high = parse_span(match["low"]), parse_span(match["high"])
    return Span(low.first, high.last, text) if low and high and low.first <= high.last else None


# Times that a question asks for: "since March 2023", "between May and July", "last week".

_A_DATE = (
    rf"(?:\d{{4}}-\d\d(?:-\d\d)?|(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?)?{any_of(_MONTHS)}\.?"
    r"(?: \d{1,2}(?:st|nd|rd|th)?)?"
    rf"(?:,? \d{{4}})?|\d{{4}})"
)
_AGO = r"(?:today|yesterday|(?:this|last|past|the past|the last) (?:\d{1,3} )?(?:day|week|month|year)s?)"
_WHEN = (
    rf"(?:(?P<low>between|from) (?P<one>{_A_DATE}) (?:and|to|until|till) (?P<two>{_A_DATE})"
    rf"|(?P<how>from|dated|since|after|before|until|till|up to|in|of|on|during) (?P<when>{_A_DATE})"
    rf"|(?:(?P<since>since|from|in|during|within|of) )?(?P<ago>{_AGO}))"
)
END_WHEN = re.compile(rf"(?:^|\s+)\b{_WHEN}$", re.I)
BEGIN_WHEN = re.compile(rf"{_WHEN}(?=\s|$)\s*", re.I)


@dataclass(frozen=True, slots=True)
class Period:
    """Days from `first` to `last`, both included; an open end is None. `text`: as a sentence has it ("since 2023")."""

    first: date | None
    last: date | None
    text: str

    def holds(self, day: date) -> bool:
        return (self.first is None or self.first <= day) and (self.last is None or day <= self.last)


def period_of(found: re.Match[str], today: date) -> Period | None:
    """The days of what :data:`BEGIN_WHEN` or :data:`END_WHEN` has found; None where they are in no calendar."""
    text = found[0].strip()
    if found["one"]:
        first, last = _days(found["one"], today), _days(found["two"], today)
        return Period(first[0], last[1], text) if first and last else None
    if found["ago"]:
        return _ago(found["ago"].casefold(), text, since=(found["since"] or "").casefold() == "since", today=today)
    days, how = _days(found["when"], today), found["how"].casefold()
    if days is None:
        return None
    if how in ("since", "after"):
        return Period(days[0] if how == "since" else days[1] + timedelta(1), None, text)
    if how in ("before", "until", "till", "up to"):
        return Period(None, days[0] - timedelta(1) if how == "before" else days[1], text)
    return Period(*days, text)


def _days(text: str, today: date) -> tuple[date, date] | None:
    """The days that a date may mean; one without a year is the last that is not to come."""
    for tried in (text, f"{text} {today.year}"):
        found = parse_date(tried)
        if found is None or not 1 <= found.year <= 9999 or (tried == text and found.month is None and len(text) != 4):
            continue
        first, last = date(*found.first), date(*found.last)
        if tried != text and first > today:
            earlier = parse_date(f"{text} {today.year - 1}")
            return (date(*earlier.first), date(*earlier.last)) if earlier is not None else None
        return first, last
    return None


def _ago(said: str, text: str, *, since: bool, today: date) -> Period:
    number = re.search(r"\d+", said)
    unit = next((name for name in ("week", "month", "year") if name in said), "day")
    first, last = today, today
    if number:
        first = today - timedelta({"day": 1, "week": 7, "month": 30, "year": 365}[unit] * int(number[0]))
    elif unit == "week":
        first = today - timedelta(today.weekday())
    elif unit != "day":
        first = today.replace(day=1) if unit == "month" else today.replace(day=1, month=1)
    if not number and said not in ("today", "this day") and not said.startswith("this"):  # the one before
        last = first - timedelta(1)
        first = {"week": first - timedelta(7), "month": last.replace(day=1), "year": date(last.year, 1, 1)}.get(
            unit, last
        )
    return Period(first, None if since else last, text)
