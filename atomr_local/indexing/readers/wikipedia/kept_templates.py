"""The words that templates show in their sentences: names in other languages, sounds, amounts, money, dates, signs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from atomr_local.indexing.readers.wikipedia.measures import MEASURES, converted, raised, value
from atomr_local.indexing.readers.wikipedia.value_templates import CURRENCIES, LISTS, date_text, money

_FIRST = frozenset(
    {"nowrap", "nobr", "small", "big", "em", "strong", "abbr", "nobold", "vanchor", "visible anchor", "tooltip"}
    | {"ill", "interlanguage link", "sic", "not a typo", "proper name", "smaller", "larger", "smallcaps", "sc", "mono"}
    | {"math", "mvar", "var", "api", "unicode", "code", "samp", "kbd", "tt", "no italic", "noitalic", "normal", "key"}
    | {"quote", "blockquote", "cquote", "quotation", "quote box", "poemquote", "poem quote", "pull quote", "pullquote"}
    | {"sub", "keypress", "key press", "num", "number", "track gauge", "railgauge", "flag", "flagu", "flagcountry"}
    | {"columns-list", "columns list", "col-list", "nsmdns", "white", "normalsize", "bigger", "resize x"}
)
_LAST = frozenset({"transl", "transliteration", "script", "resize", "font color", "color", "colour", "translit"})
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
_SIGNS = {
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
    if not filled or name in _SIGNS:
        return _SIGNS.get(name, "")
    return _of_filled(name, values, filled)


def _of_filled(name: str, values: Sequence[str], filled: Sequence[str]) -> str:
    shown = filled[0]
    if name in _PREFIXED:
        between = "–" if name in {"reign", "r.", "floruit", "fl."} else " – c. "
        shown = f"{_PREFIXED[name]} {between.join(filled[:2])}"
    elif name in _SHIPS:
        shown = f"{name.upper()} {shown}"
    elif name in _LAST:
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
    _FIRST | _LAST | _SHIPS | _CHEMICAL | _DATES | LISTS
    | _BRACKETS.keys() | _PREFIXED.keys() | _SIGNS.keys() | _SHOWN.keys() | CURRENCIES.keys() | {"ship"}
)  # fmt: skip
