"""What templates show in cells of tables and fields of infoboxes: dates, lists, flags, amounts, and coordinates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from atomr_local.language.months import MONTHS

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
