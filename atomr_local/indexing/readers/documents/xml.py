"""XML of a document's parts, without entities of its own, networks or other files."""

from __future__ import annotations

from typing import Any

from atomr_local.indexing.readers.documents.document import UnreadableError


def declares_entities(data: bytes) -> bool:
    """Whether it declares entities, in any encoding that an XML parser knows without being told."""
    return any("<!ENTITY".encode(encoding) in data for encoding in ("ascii", "utf-16-le", "utf-16-be"))


def parse_xml(data: bytes) -> Any:
    """The root element.

    Raises:
        UnreadableError: it is no well-formed XML, or declares entities.
    """
    from lxml import etree  # type: ignore[import-untyped]

    # A part of a document needs no entities; those of an attack grow without bound.
    if declares_entities(data):
        raise UnreadableError("its XML declares entities, which no such document needs")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        return etree.fromstring(data, parser)
    except etree.LxmlError as error:
        raise UnreadableError(f"its XML is damaged: {error}") from error
