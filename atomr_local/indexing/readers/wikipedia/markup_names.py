"""Names with a meaning in wiki markup: templates that stand for words, disambiguations, files and categories."""

from __future__ import annotations

import re
from collections.abc import Mapping

_FIRST = frozenset(
    {"nowrap", "nobr", "small", "big", "em", "strong", "abbr", "nobold", "val", "vanchor", "visible anchor", "tooltip"}
    | {"ill", "interlanguage link", "nihongo", "sic", "not a typo", "proper name"}
    | {"math", "mvar", "var", "ipa", "ipa-all", "api", "ipalink", "unicode", "code", "samp", "kbd"}
    | {"quote", "blockquote", "cquote", "quotation", "quote box"}
)
_SHIPS = frozenset({"uss", "hms", "ss", "rms", "hmas", "hmcs", "ms", "mv", "sms"})
_MEASURES = frozenset({"convert", "cvt"})
_LANGUAGES = frozenset({"lang", "transl", "transliteration"})
_CHEMICAL = frozenset({"chem", "chem2", "ce"})
_BRACKETS = {"angbr": "⟨{}⟩", "angbr ipa": "⟨{}⟩", "angle bracket": "⟨{}⟩"}
_PREFIXED = {"circa": "c.", "c.": "c.", "as of": "as of"} | {ship: ship.upper() for ship in _SHIPS}
# Codes of units that are no words or signs, as Module:Convert names them.
_UNITS = {
    "m2": "m²", "km2": "km²", "cm2": "cm²", "ft2": "square feet", "mi2": "square miles", "m3": "m³", "km3": "km³",
    "cm3": "cm³", "ft3": "cubic feet", "sqft": "square feet", "sqmi": "square miles", "sqkm": "km²", "sqm": "m²",
    "sqyd": "square yards", "cuft": "cubic feet", "cumi": "cubic miles", "cuyd": "cubic yards", "cuin": "cubic inches",
    "impgal": "imperial gallons", "USgal": "US gallons", "usgal": "US gallons", "oilbbl": "barrels",
    "koilbbl": "thousand barrels", "Moilbbl": "million barrels", "Goilbbl": "billion barrels", "ST": "short tons",
    "LT": "long tons", "lbf": "pounds-force", "kn": "knots", "nmi": "nautical miles", "C": "°C", "F": "°F", "K": "K",
    "C-change": "°C", "F-change": "°F", "ly": "light-years", "AU": "astronomical units", "hp": "horsepower",
    "bhp": "brake horsepower", "shp": "shaft horsepower", "PD/sqkm": "people per km²",
    "PD/sqmi": "people per square mile",
    "cuft/s": "cubic feet per second", "m3/s": "m³/s", "g/cm3": "g/cm³", "kg/m3": "kg/m³", "e6acre": "million acres",
    "e6km2": "million km²", "e6sqmi": "million square miles", "foot": "feet", "mph": "mph", "km/h": "km/h",
}  # fmt: skip
_RANGE = re.compile(r"[-–+]?[\d.,/]+|to|and|or|by|x|×|-|–|to\(-\)|and\(-\)")
# The names of kept templates, casefolded.
KEPT = _FIRST | _MEASURES | _LANGUAGES | _CHEMICAL | _BRACKETS.keys() | _PREFIXED.keys() | {"frac", "ship"}
# Classes of MediaWiki's own for what leads to other pages or speaks of the page: it says nothing of the subject.
PAGE_FURNITURE = frozenset(
    {"navbox", "vertical-navbox", "toc", "metadata", "noprint", "mbox", "ambox", "sistersitebox"}
)
# As the largest Wikipedias call them; more forms of the English one because every wiki borrows it.
_DISAMBIGUATION_CALL = re.compile(
    r"""\{\{\s*(?:
    disambig(?:uation)?(?:-cleanup)? | dab | disamb | hndis(?:-cleanup)? | geodis | geodab | numberdis | mathdab
    | letter-numbercombdisambig | schooldis | hospitaldis | roaddis | airportdis | callsigndis | biodab
    | (?:human[ _]name[ _]|place[ _]name[ _]|letter[ _])disambiguation | disambiguation[ _]page
    | begriffsklärung | begriffsklaerung | bkl | homonymie | paronymie | toponymie | patronymie | desambig
    | desambiguación | desambiguacion | desambiguação | disambigua | doorverwijspagina | dp | неоднозначность
    | многозначность | багатозначність | ujednoznacznienie | strona[ _]ujednoznaczniająca | rozcestník | förgrening
    | grensida | flertydig | pekerside | täsmennyssivu | egyért | egyértelműsítő | anlam[ _]ayrımı | dezambiguizare
    | αποσαφήνιση | 曖昧さ回避 | aimai | 消歧义 | 消歧義 | 동음이의 | توضيح | ابهام‌زدایی | định[ _]hướng | пояснение
    | nozīmju[ _]atdalīšana | zeimeibu[ _]škiršona | nuškiršona | cytys[ _]zeimeibys[ _]lopa
    )\s*[|}] | __DISAMBIG__""",
    re.I | re.X,
)
_DISAMBIGUATION_TITLE = re.compile(r"\((?:disambiguation|Begriffsklärung|homonymie|desambiguación|значения)\)$", re.I)
_FILES_AND_CATEGORIES = frozenset({"-2", "6", "14"})
# The English names work in every wiki; the others are names of former days that still stand in pages.
_ALWAYS = frozenset(
    {"media", "file", "image", "category"}
    | {"datei", "bild", "kategorie", "fichier", "catégorie", "archivo", "imagen", "categoría", "immagine", "categoria"}
    | {"ficheiro", "imagem", "bestand", "afbeelding", "файл", "изображение", "категория", "plik", "grafika"}
)


def kept_text(name: str, values: list[str]) -> str:
    """The words that the template `name` shows for its positional `values`; may be empty."""
    if name.startswith("formatnum:"):
        return name.partition(":")[2].strip()
    if not values:
        return ""
    shown = values[0]
    if name in _PREFIXED:
        shown = f"{_PREFIXED[name]} {shown}"
    elif name in _LANGUAGES:
        shown = values[-1] if len(values) > 1 else ""
    elif name in _MEASURES:
        shown = _measure(values)
    elif name in _CHEMICAL:
        shown = "".join(values)
    elif name in _BRACKETS:
        shown = _BRACKETS[name].format(shown.replace("{", "").replace("}", ""))
    elif name == "ship":
        shown = " ".join(values[:2])
    elif name == "frac" and len(values) > 1:
        shown = " ".join([*values[:-2], "/".join(values[-2:])])
    return shown


def _measure(values: list[str]) -> str:
    """What is written before the first unit, and it: "10 to 20 km" of 10|to|20|km|mi."""
    shown: list[str] = []
    for value in values:
        shown.append(_UNITS.get(value, value))
        if not _RANGE.fullmatch(value):
            break
    return " ".join(shown)


def is_disambiguation(title: str, wikitext: str) -> bool:
    """Whether the page only says which pages a name may mean."""
    return bool(_DISAMBIGUATION_TITLE.search(title) or _DISAMBIGUATION_CALL.search(wikitext))


def dropped_link_names(namespaces: Mapping[str, str]) -> frozenset[str]:
    """The names, casefolded, of the namespaces of media, files and categories; `namespaces` by key."""
    return _ALWAYS | {name for key, name in namespaces.items() if key in _FILES_AND_CATEGORIES}
