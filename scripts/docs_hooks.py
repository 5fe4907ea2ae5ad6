"""Hooks of MkDocs (mkdocs.yml): links to files of the repository that are no pages of the site become plain text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_LINK = re.compile(r"\[([^\]]+)\]\((\.\./[^)#\s]+)(?:#[^)\s]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    pages = Path(config["docs_dir"]).resolve()
    folder = Path(page.file.abs_src_path).resolve().parent

    def shown(link: re.Match[str]) -> str:
        return link[0] if (folder / link[2]).resolve().is_relative_to(pages) else link[1]

    return _LINK.sub(shown, markdown)
