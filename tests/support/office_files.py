"""Small Office and OpenDocument files, written part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from support.read_files import zipped

WORD_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'


def word_file(
    body: str,
    *,
    kind: str = WORD_TYPE,
    main: str = "word/document.xml",
    relations: Mapping[str, tuple[str, str]] | None = None,
    parts: Mapping[str, str | bytes] | None = None,
    types: Mapping[str, str] | None = None,
) -> bytes:
    """A Word document.

    Args:
        body: the elements in it.
        kind: the content type of the part `main`.
        relations: id → (type, target) of what it refers to.
        parts: further parts by name.
        types: content types by suffix.
    """
    package = "application/vnd.openxmlformats-package.relationships+xml"
    defaults = {"rels": package, "xml": "application/xml", **(types or {})}
    told = "".join(f'<Default Extension="{suffix}" ContentType="{type_}"/>' for suffix, type_ in defaults.items())
    links = "".join(
        f'<Relationship Id="{name}" Type="{_RELATIONS}/{type_}" Target="{target}"/>'
        for name, (type_, target) in (relations or {}).items()
    )
    folder, _, name = main.rpartition("/")
    return zipped(
        {
            "[Content_Types].xml": f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types">{told}'
            f'<Override PartName="/{main}" ContentType="{kind}"/></Types>',
            "_rels/.rels": f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">'
            f'<Relationship Id="r" Type="{_RELATIONS}/officeDocument" Target="{main}"/></Relationships>',
            main: f'{_HEAD}<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
            f'xmlns:r="{_RELATIONS}" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
            f"<w:body>{body}</w:body></w:document>",
            f"{folder}/_rels/{name}.rels": f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">{links}'
            "</Relationships>",
            **(parts or {}),
        }
    )


def word_runs(runs: str) -> str:
    """A paragraph; words between elements stand in runs of their own: "555{w:noBreakHyphen/}0142"."""
    pieces = runs.replace("}", "{").split("{")
    return "<w:p>" + "".join(
        f"<w:r><{piece}></w:r>" if number % 2 else f'<w:r><w:t xml:space="preserve">{piece}</w:t></w:r>'
        for number, piece in enumerate(pieces)
    ) + "</w:p>"  # fmt: skip


def open_text(body: str, sort: str = "text") -> bytes:
    """An OpenDocument file of a sort, such as "text" or "presentation"."""
    spaces = {"drawing": "draw", "xsl-fo-compatible": "fo"}
    names = ("office", "text", "table", "style", *spaces)
    declared = " ".join(
        f'xmlns:{spaces.get(name, name)}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in names
    )
    content = f"<office:body><office:{sort}>{body}</office:{sort}></office:body>"
    return zipped(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{sort}",
            "META-INF/manifest.xml": "<manifest/>",
            "content.xml": f"<office:document-content {declared}>{content}</office:document-content>",
        }
    )


_CONTAINER = '<container><rootfiles><rootfile full-path="b/c.opf"/></rootfiles></container>'
_CHAPTER = (
    '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><head><title>t</title></head>'
    "<body>{}</body></html>"
)


def e_book(chapters: Mapping[str, str], metadata: str = "", spine: Sequence[str] = ()) -> bytes:
    """An EPUB book.

    Args:
        chapters: body by the name of the file.
        metadata: elements of Dublin Core, with the prefix "dc".
        spine: names of chapters as they are read, if the order is another one.
    """
    numbered = {name: f"c{number}" for number, name in enumerate(chapters)}
    items = "".join(
        f'<item id="{one}" href="{quote(name)}" media-type="application/xhtml+xml"/>' for name, one in numbered.items()
    )
    order = "".join(f'<itemref idref="{numbered[name]}"/>' for name in spine or chapters)
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": _CONTAINER,
            "b/c.opf": '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f"<metadata>{metadata}</metadata><manifest>{items}</manifest><spine>{order}</spine></package>",
            **{f"b/{name}": _CHAPTER.format(body) for name, body in chapters.items()},
        }
    )
