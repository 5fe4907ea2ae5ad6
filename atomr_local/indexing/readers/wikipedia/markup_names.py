"""Names with a meaning in wiki markup: disambiguations, files and categories, and the furniture of pages."""

from __future__ import annotations

import re
from collections.abc import Mapping

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


def is_disambiguation(title: str, wikitext: str) -> bool:
    """Whether the page only says which pages a name may mean."""
    return bool(_DISAMBIGUATION_TITLE.search(title) or _DISAMBIGUATION_CALL.search(wikitext))


def dropped_link_names(namespaces: Mapping[str, str]) -> frozenset[str]:
    """The names, casefolded, of the namespaces of media, files and categories; `namespaces` by key."""
    return _ALWAYS | {name for key, name in namespaces.items() if key in _FILES_AND_CATEGORIES}
