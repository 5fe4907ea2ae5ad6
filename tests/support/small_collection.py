"""A folder of documents of many kinds, and its real text index."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from atomr_local.indexing import store
from atomr_local.indexing.text_index.documents import build_documents_index
from support.fake_embedder import FakeEmbedder

_LONG = "The old mill stands by the river and nobody has used it for many years. " * 12
FILES = {
    "notes/bees.md": "---\ntitle: Bees\ntags: [garden, honey]\ndate: 2024-05-02\n---\n\n# Bees\n\nA bee makes honey.\n\n"
    "## Swarms\n\nThe keeper said that the hive was full. Tally's list has no bees. "
    "Whoever sees one hang in a tree in May should ring the keeper before noon and wait beside it with a box.\n",
    "notes/wasps.md": "# Wasps\n\nWasps make no honey. They like travel.\n",
    "notes/2023-11-05 walk.md": f"# A walk\n\n{_LONG}\n\nAt the end stood a health\nand safety sign in the café.\n",
    "notes/travel.md": "# Going away\n\nPack a bag. Take a train to the coast and stay.\n",
    "notes/list.md": "# Packing\n\n" + "Travel light. The travel bag goes on each travel. " * 2 + "Travel more.\n",
    "invoices/001.txt": "Number: 1\nDate: 14 March 2024\nStatus: Paid\nOwner: Ann Lee\n\nInvoice for honey jars.\n",
    "invoices/002.txt": "Number: 2\nDate: 2 April 2024\nStatus: Open\nOwner: Bo Ray\n\nInvoice for a train ticket.\n",
    "reports/mill report.txt": "REPORT ON THE MILL\n\nDate of inspection: 9 June 2023\n\nThe roof of the mill leaks.\n",
    "reports/new mill report.txt": "REPORT\n\nDate: 1 February 2024\n\nThe mill has a new roof.\n",
    "expenses.csv": "Item,Amount,Price (EUR)\nJars,12.50,3\nTrain,\"1,030\",4\nBag,,5\nTotal,1042.50,12\n",
    "budget.csv": "Item,Amount,Note\nMill,100 EUR,roof\nBees,n/a,later\n",
    "in.mbox": "From a@x.org Thu Jan  1 00:00:00 2026\nFrom: Ann Lee <ann@x.org>\nDate: Mon, 03 Mar 2025 10:00:00 +0000\n"
    "Subject: Roof\n\nThe roof is done, says the report.\n\n"
    "From b@x.org Thu Jan  1 00:00:00 2026\nFrom: Bo Ray <bo@x.org>\nDate: Tue, 04 Mar 2025 10:00:00 +0000\n"
    "Subject: Honey\n\nHoney for sale.\n\n",
}  # fmt: skip
CHANGED = datetime(2022, 8, 1, 12)


def build(root: Path, name: str = "mine") -> Path:
    """Write the files, all of them changed at `CHANGED`, and build the index; its directory."""
    for path, text in FILES.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        os.utime(file, (CHANGED.timestamp(), CHANGED.timestamp()))
    build_documents_index([root], name, embedder=FakeEmbedder())
    return store.index_path("text", name)
