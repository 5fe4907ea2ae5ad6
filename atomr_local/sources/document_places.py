"""Where evidence stands in the user's own documents: file, page, heading, line or cells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from atomr_local.indexing.store import Manifest
from atomr_local.indexing.text_index.document_catalog import Places
from atomr_local.indexing.text_index.documents_build import folders_of, root_names
from atomr_local.sources.protocol import Evidence


def is_of_documents(manifest: Manifest) -> bool:
    """Whether the index was built from documents, so that its passages have places; it may come from elsewhere."""
    return "folders" in manifest.settings or isinstance(manifest.settings.get("documents"), dict)


class DocumentPlaces:
    """The places of an index of documents. Thread-safe."""

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        self._places = Places(directory)
        self._roots = [folder.root for folder in folders_of(manifest.settings)]
        self._names = root_names(self._roots)

    def close(self) -> None:
        self._places.close()

    def placed(self, evidence: Evidence) -> Evidence:
        """The evidence with "file", "folder", "heading" and its place in the locator, where they are known.

        The folder is the one that the file lies in or below, "" where the index was made on another machine; "above" is
        what tells it from another folder of the same name.
        """
        locator = dict(evidence.locator)
        start, end = locator["span"]
        article = str(locator["passage"]).rpartition("#")[0]
        found = self._places.locate(article, int(start), int(end))
        if not found:
            return evidence
        found |= self._below(found.pop("root"), found["file"])
        if heading := locator.get("section"):
            found["heading"] = heading
        return replace(evidence, locator=locator | found)

    def _below(self, number: int, path: str) -> dict[str, str]:
        """The folder to look in for the file of a root, and the path that is left of it."""
        if not 0 <= number < len(self._roots):
            return {"folder": ""}
        root, name = self._roots[number], self._names[number]
        if not name:
            # A single file was given: its folder is the one that it lies in.
            return {"folder": str(root if root.is_dir() else root.resolve().parent)}
        above = name
        if path == name:  # a file was given
            above, _, path = name.rpartition("/")
            place = {"folder": str(root.resolve().parent), "file": path}
        else:
            place = {"folder": str(root), "file": path.removeprefix(f"{name}/")}
        return place | ({"above": above} if "/" in name else {})
