"""The page for browsers: a fixed list of files, read once. No part of a request ever names a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from atomr_local.reasoning.confidence.words import NOT_FOUND, confidence_levels
from atomr_local.reasoning.trace.words import (
    COUNTS,
    LABELS,
    MEASURES,
    METHODS,
    MISFIT,
    ORIGINS,
    RATING_MEANS,
    YOUR_ANSWER,
)

_FOLDER = Path(__file__).with_name("static")
_SCRIPT, _STYLE = "text/javascript; charset=utf-8", "text/css; charset=utf-8"
# What the files of the page are, by name. `words.json` is made from the words that the whole program uses.
PAGE_FILES: Mapping[str, str] = {
    "index.html": "text/html; charset=utf-8",
    "style.css": _STYLE,
    "icon.svg": "image/svg+xml",
    "answer.js": _SCRIPT,
    "app.js": _SCRIPT,
    "calls.js": _SCRIPT,
    "choices.js": _SCRIPT,
    "correct.js": _SCRIPT,
    "dom.js": _SCRIPT,
    "evidence.js": _SCRIPT,
    "history.js": _SCRIPT,
    "marks.js": _SCRIPT,
    "state.js": _SCRIPT,
    "theme.js": _SCRIPT,
    "token.js": _SCRIPT,
    "tree.js": _SCRIPT,
    "words.js": _SCRIPT,
}


def page_words() -> dict[str, Any]:
    """What the page says in the words of the rest of the program."""
    return {
        "notFound": NOT_FOUND,
        "confidence": [{"least": least, "word": word, "sign": sign} for least, word, sign in confidence_levels()],
        "methods": METHODS,
        "measures": MEASURES,
        "counts": sorted(COUNTS),
        "origins": ORIGINS,
        "labels": LABELS,
        "ratingMeans": RATING_MEANS,
        "yourAnswer": YOUR_ANSWER,
        "misfit": MISFIT,
    }


def page_routes() -> list[BaseRoute]:
    """The routes of the page: `/` and what it is made of, at `/page/NAME`."""
    files = {name: _File((_FOLDER / name).read_bytes(), kind) for name, kind in PAGE_FILES.items()}
    words = json.dumps(page_words(), separators=(",", ":")).encode("ascii")
    files["words.json"] = _File(words, "application/json")
    index = files.pop("index.html")
    return [Route("/", index.serve), *(Route(f"/page/{name}", file.serve) for name, file in files.items())]


class _File:
    """One file of the page. A browser keeps it, and asks whether it is still the same."""

    def __init__(self, content: bytes, kind: str) -> None:
        self._content = content
        self._tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        self._headers = {"Content-Type": kind, "ETag": self._tag, "Cache-Control": "no-cache"}

    async def serve(self, request: Request) -> Response:
        """The file; without its content where the browser has it."""
        if _names(request.headers.getlist("if-none-match"), self._tag):
            return Response(status_code=304, headers=self._headers)
        return Response(self._content, headers=self._headers)


def _names(given: list[str], tag: str) -> bool:
    """Whether one of these tags, weak or not, is this one."""
    tags = [item.strip().removeprefix("W/") for item in ",".join(given).split(",")]
    return tag in tags or "*" in tags
