"""Tells HTML by its content: whole pages, and fragments as editors, mail programs and pandoc write them."""

from __future__ import annotations

import re

# Comments and declarations that stand before the first element.
_BEFORE = rb"(?i)\s*+(?:(?:<\?xml[^>]*+>|(?><!--.*?-->))\s*+)*+"
_PAGE = re.compile(_BEFORE + rb"<(?:!doctype\s+html|html[\s>])", re.S)
_FIRST_TAG = re.compile(_BEFORE + rb"<([a-z][a-z0-9]*+)(?=[\s/>])", re.S)
_TAG = re.compile(rb"<(/?)([a-zA-Z][\w:.-]*+)(?=[\s/>])")
# What is in them is no markup of the page.
_RAW = re.compile(rb"(?is)(?><!--.*?(?:-->|\Z))|(?><(script|style|pre|code|svg|math)\b.*?(?:</\1\s*+>|\Z))")
_NAMES = frozenset(
    b"""a abbr acronym address area article aside audio b base basefont bdi bdo big blockquote body br button canvas
    caption center cite code col colgroup data dd del details dfn dialog dir div dl dt em embed fieldset figcaption
    figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd
    label legend li link main map mark math menu meta nav nobr noscript object ol optgroup option output p param
    picture pre progress q s samp script section select small source span strike strong style sub summary sup svg table
    tbody td textarea tfoot th thead time title tr track tt u ul var video wbr""".split()
)
_NAMED_SO = frozenset({".html", ".htm", ".xhtml", ".xht", ".shtml"})
# Source code that has tags.
_TEMPLATES = frozenset(
    {".vue", ".svelte", ".jsx", ".tsx", ".php", ".phtml", ".erb", ".jsp", ".asp", ".aspx", ".cshtml", ".astro", ".hbs"}
    | {".mustache", ".ejs", ".jinja", ".jinja2", ".j2", ".twig", ".liquid", ".xsl", ".xslt", ".svg", ".js", ".ts"}
)
_TEMPLATE_MARK = re.compile(rb"<\?(?:php|=)|<%|\{%|\{\{")
_MARKDOWN_MARK = re.compile(rb"(?m)^(?:#{1,6} \S|```|\[[^\]\n]+\]: \S)|\]\((?:https?:|\.{0,2}/|#)")
_FOREIGN = re.compile(rb"""(?i)<[a-z][^<>]*\sxmlns\s*=\s*["'](?!http://www\.w3\.org/)""")
_MOST_OTHERS = 0.1  # of the names of tags: elements of a page's own, and words between angle brackets


def is_page(head: bytes) -> bool:
    """Whether a file that begins so, in UTF-8, is a page of HTML: it says so in its first element."""
    return _PAGE.match(head) is not None


def is_fragment(head: bytes, suffix: str) -> bool:
    """Whether a file that begins so, in UTF-8, is a part of a page: HTML without <html>.

    Args:
        suffix: of its name, in lower case; one of HTML needs fewer signs, and source code with tags stays what it is.
    """
    if suffix in _TEMPLATES:
        return False
    first = _FIRST_TAG.match(head)
    if suffix not in _NAMED_SO and (first is None or first[1].lower() not in _NAMES):
        return False
    bare = _RAW.sub(b" ", head)
    if suffix not in _NAMED_SO and (
        _TEMPLATE_MARK.search(bare) or _MARKDOWN_MARK.search(bare) or _FOREIGN.search(bare)
    ):
        return False
    tags = _TAG.findall(head)
    # HTML is written in one case or the other.
    ours = [(end, name.lower()) for end, name in tags if name.islower() or name.isupper()]
    ours = [(end, name) for end, name in ours if name in _NAMES]
    if suffix in _NAMED_SO:
        return bool(ours)
    closed = any(end for end, _ in ours) or sum(name in {b"p", b"li", b"br"} for _, name in ours) > 1
    return closed and len(ours) >= (1 - _MOST_OTHERS) * len(tags)
