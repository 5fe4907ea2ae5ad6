"""Where evidence stands in the user's own documents: file, page, heading, line or cells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from atomr_local.indexing.store import Manifest
from atomr_local.indexing.text_index.document_catalog import Places
from atomr_local.indexing.text_index.documents_build import folders_of
from atomr_local.sources.protocol import Evidence


class DocumentPlaces:
    """The places of an index that follows folders. Thread-safe."""

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        self._places = Places(directory)
        self._roots = [folder.root for folder in folders_of(manifest.settings)]

    def close(self) -> None:
        self._places.close()

    def placed(self, evidence: Evidence) -> Evidence:
        """The evidence with "file", "folder", "heading" and its place in the locator, where they are known."""
        locator = dict(evidence.locator)
        start, end = locator["span"]
        article = str(locator["passage"]).rpartition("#")[0]
        found = self._places.locate(article, int(start), int(end))
        if not found:
            return evidence
        if len(self._roots) == 1:
            root = self._roots[0]
            # A single file was given: its folder is the one that it lies in.
            found["folder"] = str(root if root.is_dir() else root.parent)
        else:
            found["folder"] = self._folder_of(found)
        if heading := locator.get("section"):
            found["heading"] = heading
        return replace(evidence, locator=locator | found)

    def _folder_of(self, found: dict[str, Any]) -> str:
        """Of several folders, the one above this file; their names stand before the paths."""
        first, _, below = str(found["file"]).partition("/")
        for root in self._roots:
            if below and root.resolve().name == first and root.is_dir():
                found["file"] = below
                return str(root)
            if not below and root.resolve().name == first:
                return str(root.parent)
        return ""
