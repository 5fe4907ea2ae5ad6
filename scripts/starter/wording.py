"""Small parts of sentences: lists, dates, numbers, articles, and a steady choice between variants."""

from __future__ import annotations

import calendar
import zlib
from collections.abc import Sequence

_THE = frozenset({
    "Bahamas", "Central African Republic", "Comoros", "Czech Republic", "Democratic Republic of the Congo",
    "Dominican Republic", "Gambia", "Kingdom of England", "Maldives", "Marshall Islands", "Netherlands", "Philippines",
    "Republic of the Congo", "Russian Empire", "Seychelles", "Solomon Islands", "Soviet Union", "United Arab Emirates",
    "United Kingdom", "United States", "Sun", "Moon", "Rhine", "Nile", "Congo", "Niger (river)", "Zambezi", "Amazon",
    "Yangtze", "Yellow River", "Mekong", "Ganges", "Indus", "Danube", "Volga", "Elbe", "Vistula", "Seine", "Loire",
    "Rhône",
    "Thames", "Po", "Tagus", "Mississippi", "Mediterranean Sea", "Atlantic Ocean", "Gulf of Guinea", "Indian Ocean",
    "East China Sea", "Bohai Sea", "South China Sea", "Bay of Bengal", "Arabian Sea", "Black Sea", "North Sea",
    "Caspian Sea", "Baltic Sea", "English Channel", "Adriatic Sea", "Gulf of Mexico", "Himalayas", "Karakoram", "Alps",
    "Caucasus", "Andes", "Cascade Range", "Southern Alps", "Matterhorn", "Eiger", "Zugspitze", "Louvre", "Rijksmuseum",
    "Mauritshuis", "Museo del Prado", "Uffizi", "Museum of Modern Art", "Musée d'Orsay", "Van Gogh Museum",
    "Art Institute of Chicago", "Museo Reina Sofía", "Sistine Chapel", "Apostolic Palace", "Galleria dell'Accademia",
    "Musée Marmottan Monet", "Gemäldegalerie Alte Meister", "Belvedere", "Museo de Arte Moderno",
    "Americas", "Red Cross", "United Nations", "Flerov Laboratory of Nuclear Reactions",
    "Lawrence Livermore National Laboratory", "Linux kernel", "World Wide Web",
})  # fmt: skip
_BARE_UNIVERSITIES = ("University of", "Massachusetts Institute", "École normale", "Conservatoire", "College of")
_VOWEL_SOUND = "aeiou"


def plain(name: str) -> str:
    """The name without its qualifier in brackets."""
    return name.partition(" (")[0]


def the(name: str) -> str:
    """The plain name with the article that running text gives it."""
    if name in _THE or name.startswith(_BARE_UNIVERSITIES):
        return f"the {plain(name)}"
    return plain(name)


def capital_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def an(noun: str) -> str:
    """The noun with its indefinite article."""
    return f"{'an' if noun[:1].lower() in _VOWEL_SOUND and not noun.startswith('uni') else 'a'} {noun}"


def listed(names: Sequence[str], most: int = 100) -> str:
    """ "A", "A and B", "A, B and C"; at most so many."""
    shown = list(names[:most])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def told(sentence: str, names: Sequence[str], most: int = 100) -> str:
    """The sentence with the names in the place of {}; empty where there are none."""
    return sentence.format(listed(names, most)) if names else ""


def when(date: str) -> str:
    """ "on 14 March 1879", "in March 1685", "in 1541" for 1879-03-14, 1685-03, 1541."""
    parts = [int(part) for part in date.split("-")]
    if len(parts) == 1:
        return f"in {parts[0]}"
    month = calendar.month_name[parts[1]]
    return f"in {month} {parts[0]}" if len(parts) == 2 else f"on {parts[2]} {month} {parts[0]}"


def grouped(number: str) -> str:
    """Thousands apart: "551,695"."""
    whole, point, rest = number.partition(".")
    return f"{int(whole):,}{point}{rest}"


def choose(key: str, *variants: str) -> str:
    """One of the variants, always the same for a key."""
    return variants[zlib.crc32(key.encode()) % len(variants)]
