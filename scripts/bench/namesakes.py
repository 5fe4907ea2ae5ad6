"""Namesakes: things of one name that only what is said about them tells apart; used by linking.py.

The corpora of shared/data/qa hold pages whose titles differ in their qualifier alone ("Dark River (2017 film)", "Dark
River (1990 film)"). Each page becomes an entity that bears the bare name, described by what the page's first sentence
says of it. It is asked for by its name and

- "qualifier": the qualifier of its title, which the page's writers chose. Groups are split by their order: "dev" is
  the first four fifths, which the weights were chosen on, "held" the last.
- "paraphrase": a description in other words (namesakes.tsv, title and descriptor), written for the last fifth alone,
  from the pages and before any weight was chosen; nothing was tuned on it.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from atomr_local.indexing import store
from atomr_local.indexing.embedding.embedder import Embedder
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.sources.graph import GraphSource

ENTITY = "http://www.wikidata.org/entity/"
CORPORA = ("2wiki_train500", "2wiki_distractors", "hotpot_train100", "musique_train100")
PARAPHRASES = Path(__file__).with_name("namesakes.tsv")
_QUALIFIED = re.compile(r"^(?P<name>.*\S) \((?P<qualifier>[^()]*)\)$")
_DISAMBIGUATION = re.compile(r"may (?:also )?refer to")
_SAYS = re.compile(r"\b(?:is|was|are|were)\b(?: also)?(?: known as| called)? +(?:an? |the |one of )?(?=\S)")
_LONGEST = 120


@dataclass(frozen=True)
class Asking:
    """One question: a name, what is said about it, and the entity meant."""

    way: str
    part: str
    name: str
    descriptor: str
    wanted: str


def described(text: str) -> str:
    """What the first sentence says the thing is, about as long as a description of Wikidata."""
    match = _SAYS.search(text, 0, 400)
    told = text[match.end() :] if match else text
    return re.split(r"(?<=\w{3})\. |\n", told)[0][:_LONGEST].strip(" .")


def groups(data: Path) -> list[dict[str, str]]:
    """Title to text, for each name that several pages bear."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for name in CORPORA:
        for line in (data / "qa" / f"{name}_corpus.jsonl").read_text(encoding="utf-8").splitlines():
            page = json.loads(line)
            title, text = page["title"], page["text"]
            if not _DISAMBIGUATION.search(text[:200]):
                pages = found[bare(title).casefold()]
                pages[title] = max(pages.get(title, ""), text, key=len)
    return [pages for _, pages in sorted(found.items()) if len(pages) > 1]


def bare(title: str) -> str:
    match = _QUALIFIED.match(title)
    return match["name"] if match else title


def prepared(data: Path) -> tuple[list[Asking], Path]:
    """What is asked, and the index, built below ATOMR_HOME."""
    paraphrases = dict(line.split("\t") for line in PARAPHRASES.read_text(encoding="utf-8").splitlines())
    lines, askings = [], []
    number = 9_000_000
    for place, pages in enumerate(groups(data)):
        part = "held" if place % 5 == 4 else "dev"
        for title, text in sorted(pages.items()):
            number += 1
            name, qid = bare(title), f"Q{number}"
            lines.append({"s": name, "s_qid": qid, "p": "description", "o": described(text)})
            # Of each alike, so that it tells nothing: an entity is what has statements.
            lines.append({"s": name, "s_qid": qid, "p": "described by source", "o": "encyclopedia"})
            if match := _QUALIFIED.match(title):
                askings.append(Asking("qualifier", part, name, match["qualifier"], ENTITY + qid))
            if part == "held" and title in paraphrases:
                askings.append(Asking("paraphrase", part, name, paraphrases[title], ENTITY + qid))
    file = Path(os.environ["ATOMR_HOME"]) / "namesakes.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    build_graph_index([file], "namesakes")
    return askings, store.index_path("graph", "namesakes")


def places(data: Path, embedders: dict[str, Callable[[], Embedder] | None]) -> Iterator[tuple[str, Asking, int | None]]:
    """For each way of linking and each asking, the place of the entity meant."""
    askings, directory = prepared(data)
    for name, embedder in embedders.items():
        source = GraphSource.open(directory, embedder)
        for asking in askings:
            found = [candidate.entity.iri for candidate in source.linker.link(asking.name, asking.descriptor)]
            yield name, asking, found.index(asking.wanted) if asking.wanted in found else None
        source.close()
