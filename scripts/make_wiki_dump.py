"""Makes a MediaWiki dump of any size, for benchmarks and tests.

    python scripts/make_wiki_dump.py /tmp/big.xml.bz2 --articles 100000 --multistream
    python scripts/make_wiki_dump.py /tmp/big.xml.gz --articles 20000 --words-of corpus.jsonl
    python scripts/make_wiki_dump.py /tmp/part2.xml.bz2 --articles 20000 --seed 2 --first-page 30000

The same arguments give the same bytes. Beside the articles, every tenth title is a redirect, every fiftieth a
disambiguation page and every twentieth a talk page. Articles have an infobox, sections, links, references, a table and
a category. With --words-of their sentences are those of a corpus (JSON lines with "text"), shuffled; else they are
made up. Each file of a dump in several, as large ones are, needs a --seed and a --first-page of its own.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import json
import random
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast
from xml.sax.saxutils import escape, quoteattr

from atomr_local.language.sentences import sentences

_HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
  <siteinfo>
    <sitename>Made up</sitename>
    <dbname>madeupwiki</dbname>
    <base>https://wiki.example/wiki/Main_Page</base>
    <generator>make_wiki_dump</generator>
    <case>first-letter</case>
    <namespaces>
      <namespace key="-2" case="first-letter">Media</namespace>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Talk</namespace>
      <namespace key="6" case="first-letter">File</namespace>
      <namespace key="14" case="first-letter">Category</namespace>
    </namespaces>
  </siteinfo>
"""
_FOOT = "</mediawiki>\n"
_STREAM_PAGES = 100
_SYLLABLES = (
    "ba be bi bo da de di do ka ke ki ko la le li lo ma me mi mo na ne ni no ra re ri ro sa se si so ta te ti to"
)
_SOURCE_SENTENCES = 20_000


def write_dump(
    path: Path,
    articles: int,
    *,
    seed: int = 0,
    multistream: bool = False,
    corpus: Path | None = None,
    first_page: int = 1,
) -> None:
    """Write a dump of `articles` articles to `path`; .gz and .bz2 are compressed, `multistream` as Wikimedia's are.

    The pages have the ids from `first_page` on.
    """
    pages = _pages(articles, random.Random(seed), _sentences_of(corpus) if corpus else [], first_page)
    if multistream:
        with path.open("wb") as out:
            out.write(bz2.compress(_HEAD.encode()))
            while block := "".join(islice(pages, _STREAM_PAGES)):
                out.write(bz2.compress(block.encode()))
            out.write(bz2.compress(_FOOT.encode()))
        return
    with _opened(path) as out:
        out.write(_HEAD.encode())
        for page in pages:
            out.write(page.encode())
        out.write(_FOOT.encode())


def _opened(path: Path) -> BinaryIO:
    if path.suffix == ".bz2":
        return cast(BinaryIO, bz2.BZ2File(path, "wb"))
    if path.suffix == ".gz":
        # Without time and name in its head: the same arguments give the same bytes.
        return cast(BinaryIO, gzip.GzipFile("", "wb", fileobj=path.open("wb"), mtime=0))
    return path.open("wb")


def _sentences_of(corpus: Path) -> list[str]:
    found: list[str] = []
    with corpus.open(encoding="utf-8") as lines:
        for line in lines:
            text = json.loads(line)["text"]
            found.extend(text[begin:end].strip() for begin, end in sentences(text) if end - begin > 20)
            if len(found) >= _SOURCE_SENTENCES:
                break
    return found


def _pages(articles: int, chance: random.Random, source: list[str], first: int) -> Iterator[str]:
    number = first - 1
    for article in range(articles):
        title = f"{_name(chance)} {_name(chance)} {article}"
        number += 1
        yield _page(number, title, 0, _wikitext(title, chance, source))
        if article % 10 == 9:
            number += 1
            yield _page(number, f"Old {title}", 0, f"#REDIRECT [[{title}]]", redirect=title)
        if article % 20 == 19:
            number += 1
            yield _page(number, f"Talk:{title}", 1, "I have a question. ~~~~")
        if article % 50 == 49:
            number += 1
            yield _page(
                number, f"{title.partition(' ')[0]} (disambiguation)", 0, f"* [[{title}]]\n{{{{disambiguation}}}}"
            )


def _page(number: int, title: str, namespace: int, text: str, redirect: str = "") -> str:
    target = f"    <redirect title={quoteattr(redirect)} />\n" if redirect else ""
    return (
        f"  <page>\n    <title>{escape(title)}</title>\n    <ns>{namespace}</ns>\n    <id>{number}</id>\n{target}"
        f"    <revision>\n      <id>{number + 10_000_000}</id>\n      <timestamp>2024-01-01T00:00:00Z</timestamp>\n"
        "      <contributor>\n        <username>A &amp; B</username>\n        <id>1</id>\n      </contributor>\n"
        "      <model>wikitext</model>\n      <format>text/x-wiki</format>\n"
        f'      <text bytes="{len(text.encode())}" xml:space="preserve">{escape(text)}</text>\n'
        "    </revision>\n  </page>\n"
    )


def _wikitext(title: str, chance: random.Random, source: list[str]) -> str:
    size = f"{{{{convert|{chance.randint(1, 99)}|km}}}}"
    parts = [
        f"{{{{Infobox thing\n| name = {title}\n| image = {title}.jpg\n| size = {size}\n}}}}",
        f"[[File:{title}.jpg|thumb|A picture of [[{title}]].]]",
        f"'''{title}''' is a made-up thing.<ref>{{{{cite book|title={title}}}}}</ref> {_paragraph(chance, source)}",
    ]
    for heading in ("History", "Size", "People"):
        parts.append(f"== {heading} ==\n{_paragraph(chance, source)}\n\n{_paragraph(chance, source)}")
    parts.append(f"=== Later ===\n{_paragraph(chance, source)}")
    parts.append('{| class="wikitable"\n! Year !! Size\n|-\n| 1990 || 7\n|}')
    parts.append("== References ==\n{{reflist}}\n[[Category:Made-up things]]")
    return "\n\n".join(parts)


def _paragraph(chance: random.Random, source: list[str]) -> str:
    if source:
        return " ".join(chance.choices(source, k=chance.randint(2, 5)))
    return " ".join(_sentence(chance) for _ in range(chance.randint(2, 6)))


def _sentence(chance: random.Random) -> str:
    words = [_name(chance).lower() for _ in range(chance.randint(6, 18))]
    linked = chance.randrange(len(words))
    words[linked] = f"[[{words[linked].title()} thing|{words[linked]}]]"
    return f"It {' '.join(words)}."


def _name(chance: random.Random) -> str:
    return "".join(chance.choices(_SYLLABLES.split(), k=chance.randint(2, 3))).title()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--articles", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--multistream", action="store_true", help="bzip2 in streams of 100 pages, as Wikimedia's dumps"
    )
    parser.add_argument(
        "--words-of", type=Path, metavar="CORPUS", help="take the sentences from a corpus of JSON lines"
    )
    parser.add_argument("--first-page", type=int, default=1, metavar="ID", help="the id of the first page")
    arguments = parser.parse_args()
    write_dump(
        arguments.out,
        arguments.articles,
        seed=arguments.seed,
        multistream=arguments.multistream,
        corpus=arguments.words_of,
        first_page=arguments.first_page,
    )
    print(f"{arguments.out}: {arguments.articles} articles, {arguments.out.stat().st_size:,} bytes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
