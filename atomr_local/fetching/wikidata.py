"""Facts from Wikidata: entities from its API, slices as JSON lines, and labels that a graph index lacks."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx

from atomr_local.errors import KnowledgeIndexError
from atomr_local.fetching.client import Client, FetchError, Limiter, Passing, checked_url, retry_after, shown
from atomr_local.fetching.download import Progress, part_of, require_room
from atomr_local.fetching.estimates import ENTITIES_A_REQUEST
from atomr_local.indexing.graph_index.ids import HIGHEST, IdSet
from atomr_local.indexing.graph_index.names.database import Names
from atomr_local.indexing.graph_index.subset import LEFT_OUT, TYPE_IDS
from atomr_local.indexing.store import IndexEntry, check_name, index_path, read_manifest
from atomr_local.indexing.text_index.catalog import CatalogReader
from atomr_local.language.properties import ENTITY, PROPERTY
from atomr_local.system.files import put
from atomr_local.system.sanitize import sanitize_line

# Entities from a Wikibase API such as Wikidata's, fifty per request.

BATCH = ENTITIES_A_REQUEST
_MAXLAG = "5"  # seconds that the servers' copies may be behind; above, they ask robots to wait
_ANSWER_BYTES = 256 << 20
_NUMBER = re.compile(r"([QP])([1-9]\d{0,11})")
_LATER = ("maxlag", "ratelimited", "readonly", "internal_api_error", "failed-save", "timeout", "actionthrottled")
_UNKNOWN = ("no-such-entity", "invalid-entity-id")


class Wikibase:
    """See the module.

    Args:
        endpoint: address of its api.php.
        languages: of labels, descriptions and aliases.
        limiter: how many requests per second.
    """

    def __init__(self, client: Client, endpoint: str, languages: Sequence[str], limiter: Limiter) -> None:
        checked_url(endpoint)
        self._client = client
        self._endpoint = endpoint
        self._languages = "|".join(languages)
        self._limiter = limiter

    def entities(self, identifiers: Sequence[str], props: Sequence[str]) -> dict[str, dict[str, Any] | None]:
        """The entities of at most :data:`BATCH` ids; None for those that do not exist, the target for merged ones.

        Raises:
            FetchError: the API does not answer, or not with these entities.
        """
        asked = {"ids": "|".join(identifiers), "props": "|".join(props), "languages": self._languages}
        try:
            return self._client.persist(lambda: _entities_of(self._ask(asked, post=False), identifiers))
        except _Unknown:
            if len(identifiers) == 1:
                return {identifiers[0]: None}
        middle = len(identifiers) // 2
        return self.entities(identifiers[:middle], props) | self.entities(identifiers[middle:], props)

    def of_titles(self, site: str, titles: Sequence[str]) -> dict[str, str]:
        """The ids of the items whose page on `site` has one of these titles, at most :data:`BATCH`; by title.

        Raises:
            FetchError: as :meth:`entities`.
        """
        asked = {"sites": site, "titles": "|".join(titles), "props": "sitelinks", "sitefilter": site}

        def work() -> dict[str, str]:
            found = {}
            for entity in map(_fields, self._ask(asked, post=True).values()):
                title = _fields(_fields(entity.get("sitelinks")).get(site)).get("title")
                match = _NUMBER.fullmatch(str(entity.get("id")))
                if isinstance(title, str) and title in titles and match and match[1] == "Q":
                    found[title] = match[0]
            return found

        return self._client.persist(work)

    def _ask(self, asked: dict[str, str], *, post: bool) -> dict[str, Any]:
        """The "entities" of one answer."""
        asked = {"action": "wbgetentities", "format": "json", "maxlag": _MAXLAG, **asked}
        self._limiter.spend(1)
        if post:
            text, headers = self._client.body(self._endpoint, _ANSWER_BYTES, data=asked)
        else:
            text, headers = self._client.body(f"{self._endpoint}?{urlencode(asked)}", _ANSWER_BYTES)
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            raise Passing(f"{shown(self._endpoint)}: the answer is not JSON") from None
        if not isinstance(answer, dict):
            raise Passing(f"{shown(self._endpoint)}: the answer is not a JSON object")
        if "error" in answer:
            self._complain(answer["error"], headers)
        entities = answer.get("entities")
        if not isinstance(entities, dict) or not entities:
            raise Passing(f"{shown(self._endpoint)}: the answer contains no entities")
        return entities

    def _complain(self, error: Any, headers: httpx.Headers) -> None:
        code, words = (str(_fields(error).get(key, "")) for key in ("code", "info"))
        if code.startswith(_LATER):
            raise Passing(f"{shown(self._endpoint)}: {sanitize_line(code)[:40]}", retry_after(headers))
        if code in _UNKNOWN:
            raise _Unknown
        raise FetchError(f"{shown(self._endpoint)} refuses: {sanitize_line(f'{code} {words}')[:200]}")


def _fields(data: Any) -> dict[str, Any]:
    """A JSON object; empty where the server sent something else."""
    return data if isinstance(data, dict) else {}


class _Unknown(Exception):
    """An id is none that the API knows, so that it answers for none of them."""


def _entities_of(answer: dict[str, Any], identifiers: Sequence[str]) -> dict[str, dict[str, Any] | None]:
    """What of the answer belongs to each id that was asked for.

    Raises:
        Passing: it lacks one.
    """
    merged = {}
    for entity in answer.values():
        redirect = _fields(entity).get("redirects")
        if isinstance(redirect, dict):
            merged[redirect.get("from")] = entity
    found: dict[str, dict[str, Any] | None] = {}
    for identifier in identifiers:
        entity = merged.get(identifier) or answer.get(identifier)
        if not isinstance(entity, dict):
            raise Passing(f"{identifier} is missing in the answer")
        if "missing" in entity:
            found[identifier] = None
            continue
        own = entity.get("id")
        if not isinstance(own, str) or not _NUMBER.fullmatch(own) or own[0] != identifier[0]:
            raise Passing(f"something else came for {identifier}")
        if own != identifier and identifier not in merged:
            raise Passing(f"{sanitize_line(own)} came for {identifier}")
        found[identifier] = entity
    return found


# Downloads a slice of Wikidata as JSON lines: entities, what they point to, its classes, and the properties.
#
# The file grows batch by batch as `NAME.part`; `NAME.part.json` says up to where it is whole. A run that was
# interrupted anywhere continues from there, to the same bytes.

MANY = 300_000  # entities for which a dump is the better way
DUMPS_OF_ENTITIES = "https://dumps.wikimedia.org/wikidatawiki/entities/"
ENTITIES, LINKED, CLASSES, PROPERTIES = STAGES = ("entities", "linked", "classes", "properties")
_NAMES = ("info", "labels", "descriptions", "aliases")
_PROPS = {
    ENTITIES: (*_NAMES, "claims", "sitelinks", "datatype"),
    LINKED: (*_NAMES, "claims", "sitelinks", "datatype"),
    CLASSES: (*_NAMES, "sitelinks", "datatype"),
    PROPERTIES: (*_NAMES, "datatype"),
}
# In the order of Wikidata's own dumps.
_KEPT = ("type", "datatype", "id", "labels", "descriptions", "aliases", "claims", "sitelinks")
_UNIT = re.compile(r"https?://www\.wikidata\.org/entity/(Q[1-9]\d{0,11})")
_TITLES_SAVED = 20 * BATCH
_BATCH_BYTES = 50_000_000  # room that a batch may take at most, and some


def of_text_index(name: str) -> tuple[IdSet, list[str]]:
    """The entities of the articles of a text index, and the titles of articles that know none.

    Raises:
        KnowledgeIndexError: there is no such index, or it cannot be read.
    """
    found, titles = IdSet(), []
    with closing(CatalogReader(index_path("text", check_name(name)))) as catalog:
        for article in catalog.articles():
            match = _NUMBER.fullmatch(article.qid or "")
            if match and match[1] == "Q":
                found.add(int(match[2]))
            else:
                titles.append(" ".join(article.title.replace("_", " ").split()))
    return found, titles


@dataclass
class Slice:
    """The work on one file.

    Args:
        wanted: numbers of the items that the slice is about.
        titles: titles of pages on `site` whose items it is about, too.
        settings: what else the content depends on; a part made with other settings is started again.
        whole: keep external identifiers, media and the like as well.
        properties: given, the names of the items and of these properties alone are fetched.

    Attributes:
        entity_list: file of the ids of the items that the slice is about, as Wikidata numbers them now; written last.
    """

    api: Wikibase
    target: Path
    wanted: IdSet
    titles: Sequence[str] = ()
    _: KW_ONLY
    site: str = "enwiki"
    settings: dict[str, Any] | None = None
    whole: bool = False
    properties: IdSet | None = None
    progress: Progress = lambda *_: None

    def __post_init__(self) -> None:
        self._part, self._notes, self._found = (
            self.target.with_name(f"{self.target.name}.part{end}") for end in ("", ".json", ".ids")
        )
        self.entity_list = self.target.with_name(f"{self.target.name}.entities.txt")
        self._titles = sorted(set(self.titles))
        digest = hashlib.sha256(self.wanted.to_bytes().rstrip(b"\0"))
        if self.properties is not None:
            digest.update(b"names" + self.properties.to_bytes().rstrip(b"\0"))
        digest.update(json.dumps([self._titles, self.site, self.whole, self.settings], sort_keys=True).encode())
        self._inputs = digest.hexdigest()
        self._state: dict[str, Any] = {}
        self._first = ENTITIES if self.properties is None else CLASSES  # the stage of what is asked for itself
        self._sets = {stage: IdSet() for stage in STAGES}
        self._written = IdSet()

    def fetch(self) -> dict[str, int]:
        """Download or resume; counts of what was missing in the end.

        Raises:
            FetchError: see its message; what was fetched stays, to continue from.
            KeyboardInterrupt: passed on; the part stays.
        """
        with part_of(self.target):
            if self.target.exists():
                raise FetchError(f"{self.target} already exists", hint="Move it away, or give another name with --to.")
            self._restore()
            if self._state["titles"] < len(self._titles):
                self._find_titles()
            self._sets[self._first] = self.wanted
            for number in self.properties or ():
                self._sets[PROPERTIES].add(number)
            with self._part.open("r+b") as stream:
                stream.truncate(self._state["bytes"])
                stream.seek(self._state["bytes"])
                for stage in STAGES[STAGES.index(self._state["stage"]) :]:
                    if stage != self._state["stage"]:
                        self._state["starts"][stage] = stream.tell()
                        self._save(stage=stage, after=0)
                    self._stage(stage, stream)
            if not self._state["bytes"]:
                raise FetchError("none of the entities exists", hint="Are the ids Wikidata's, or is --site right?")
            self._finish()
        return {"titles": self._state["unfound"], "entities": self._state["missing"]}

    # -- what an earlier run left

    def _restore(self) -> None:
        state = self._saved()
        if state is None:
            self._found.unlink(missing_ok=True)
            self._state = {
                "inputs": self._inputs, "titles": 0, "unfound": 0, "stage": ENTITIES, "after": 0, "bytes": 0,
                "starts": {ENTITIES: 0}, "missing": 0,
            }  # fmt: skip
            self._save()
            return
        self._state = state
        if self._found.exists():
            for number in IdSet.from_bytes(self._found.read_bytes()):
                self.wanted.add(number)
        for stage, entity in self._lines():
            self._take(stage, entity)

    def _saved(self) -> dict[str, Any] | None:
        try:
            state = json.loads(self._notes.read_bytes())
            usable = state["inputs"] == self._inputs and self._part.stat().st_size >= state["bytes"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return state if usable else None

    def _lines(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The entities of the part, each with the stage that it belongs to."""
        starts = self._state["starts"]
        with self._part.open("rb") as stream:
            place = 0
            while place < self._state["bytes"]:
                line = stream.readline()
                try:
                    entity = json.loads(line)
                except ValueError as error:
                    raise FetchError(
                        f"{self._part} is damaged at byte {place}", hint="Remove it, then run the same command again."
                    ) from error
                yield [stage for stage in STAGES if stage in starts and starts[stage] <= place][-1], entity
                place += len(line)

    def _save(self, **changes: Any) -> None:
        self._state |= changes
        put(self._notes, json.dumps(self._state).encode())

    # -- the work

    def _find_titles(self) -> None:
        """The items of the titles. What is lost by a kill is asked again."""
        for start in range(self._state["titles"], len(self._titles), _TITLES_SAVED):
            unfound = self._state["unfound"]
            titles = self._titles[start : start + _TITLES_SAVED]
            for first in range(0, len(titles), BATCH):
                batch = [title for title in titles[first : first + BATCH] if title and not set(title) & set("|\x1f\n")]
                found = self.api.of_titles(self.site, batch) if batch else {}
                for identifier in found.values():
                    self.wanted.add(int(identifier[1:]))
                unfound += len(titles[first : first + BATCH]) - len(found)
                self.progress("titles", start + first + len(batch), len(self._titles))
            put(self._found, self.wanted.to_bytes())
            self._save(titles=start + len(titles), unfound=unfound)

    def _stage(self, stage: str, stream: Any) -> None:
        letter = "P" if stage == PROPERTIES else "Q"
        numbers = self._sets[stage]
        total, done = len(numbers), 0
        told = stage if self.properties is None or stage == PROPERTIES else "labels"
        batch: list[int] = []
        for number in numbers:
            done += 1
            if number <= self._state["after"] or (letter == "Q" and number in self._written):
                continue
            batch.append(number)
            if len(batch) == BATCH:
                self._batch(stage, letter, batch, stream)
                batch = []
                self.progress(told, done, total)
        if batch:
            self._batch(stage, letter, batch, stream)
        if total or self.properties is None:
            self.progress(told, total, total)

    def _batch(self, stage: str, letter: str, numbers: list[int], stream: Any) -> None:
        require_room(self._part.parent, _BATCH_BYTES)
        missing = 0
        props = _PROPS[stage if self.properties is None else PROPERTIES]
        for identifier, found in self.api.entities([f"{letter}{number}" for number in numbers], props).items():
            if found is None:
                missing += stage == self._first
                continue
            # What points to an item that was merged must find a name under the id that it points to.
            entity = found if stage == ENTITIES else found | {"id": identifier}
            if letter == "Q" and int(entity["id"][1:]) in self._written:
                continue
            kept = trimmed(entity, stage, whole=self.whole)
            stream.write(json.dumps(kept, separators=(",", ":")).encode() + b"\n")
            self._take(stage, kept)
        stream.flush()
        os.fsync(stream.fileno())
        self._save(after=numbers[-1], bytes=stream.tell(), missing=self._state["missing"] + missing)

    def _take(self, stage: str, entity: dict[str, Any]) -> None:
        """Note what a written entity makes necessary."""
        if entity["id"].startswith("Q"):
            self._written.add(int(entity["id"][1:]))
        for identifier in pointed_to(entity):
            letter, number = identifier[0], int(identifier[1:])
            if number > HIGHEST:
                continue
            if letter == "P":
                self._sets[PROPERTIES].add(number)
            elif stage in (ENTITIES, LINKED):
                self._sets[LINKED if stage == ENTITIES else CLASSES].add(number)

    def _finish(self) -> None:
        if self.properties is None:
            ids = (entity["id"] for stage, entity in self._lines() if stage == ENTITIES)
            put(self.entity_list, "".join(f"{identifier}\n" for identifier in ids).encode())
        self._part.replace(self.target)
        self._notes.unlink(missing_ok=True)
        self._found.unlink(missing_ok=True)


def trimmed(entity: dict[str, Any], stage: str, *, whole: bool = False) -> dict[str, Any]:
    """What of an entity a graph index can use: no references, of what is only pointed to the types alone."""
    kept = {key: entity[key] for key in _KEPT if key in entity}
    kept.setdefault("labels", {})
    if stage in (CLASSES, PROPERTIES):
        kept.pop("claims", None)
    elif isinstance(entity.get("claims"), dict):
        kept["claims"] = {
            pid: [_without_references(statement) for statement in group]
            for pid, group in entity["claims"].items()
            if isinstance(group, list)
            and (pid in TYPE_IDS or (stage == ENTITIES and (whole or _datatype(group) not in LEFT_OUT)))
        }
    if isinstance(kept.get("sitelinks"), dict):
        kept["sitelinks"] = {
            site: {key: link[key] for key in ("site", "title") if key in link}
            for site, link in kept["sitelinks"].items()
            if isinstance(link, dict)
        }
    return kept


def _without_references(statement: Any) -> Any:
    if not isinstance(statement, dict):
        return statement
    return {key: value for key, value in statement.items() if key != "references"}


def _datatype(group: list[Any]) -> str:
    return str(_fields(_fields(group[0] if group else None).get("mainsnak")).get("datatype", ""))


def pointed_to(entity: dict[str, Any]) -> Iterator[str]:
    """Ids of the items and properties that the statements of an entity name: values, units, qualifiers."""
    for group in _lists(entity.get("claims")):
        for statement in map(_fields, group):
            yield from _of_snak(statement.get("mainsnak"))
            for snaks in _lists(statement.get("qualifiers")):
                for snak in snaks:
                    yield from _of_snak(snak)


def _lists(data: Any) -> Iterator[list[Any]]:
    return (group for group in _fields(data).values() if isinstance(group, list))


def _of_snak(data: Any) -> Iterator[str]:
    snak = _fields(data)
    value = _fields(_fields(snak.get("datavalue")).get("value"))
    unit = _UNIT.fullmatch(str(value.get("unit", "")))
    found = (snak.get("property"), value.get("id"), unit[1] if unit else None)
    yield from (text for text in found if isinstance(text, str) and _NUMBER.fullmatch(text))


# What a graph index shows by ids because it has no labels for it: which labels to download.

_OF_WIKIDATA = re.compile(f"(?:{re.escape(ENTITY)}|{re.escape(PROPERTY)})" + r"([QP])([1-9]\d{0,11})")


@dataclass(frozen=True)
class Unlabelled:
    """What of a graph index has no label.

    Attributes:
        items, properties: those of Wikidata, by their numbers.
        others: how many are not Wikidata's, so that it has no labels of them.
        entry: the index.
    """

    items: IdSet
    properties: IdSet
    others: int
    entry: IndexEntry

    @property
    def language(self) -> str:
        """Of the index's labels."""
        manifest = self.entry.manifest
        language = manifest.settings.get("language", "en") if manifest is not None else "en"
        return language if isinstance(language, str) else "en"


def unlabelled_in(name: str) -> Unlabelled:
    """What has no label in the graph index `name`.

    Raises:
        KnowledgeIndexError: there is no such index, or it cannot be read.
    """
    directory = index_path("graph", check_name(name))
    if not directory.is_dir():
        raise KnowledgeIndexError(
            f"there is no graph index named {name!r}", hint="`atomr indexes list` shows what there is."
        )
    entry = IndexEntry("graph", name, directory, read_manifest(directory))
    found = Unlabelled(IdSet(), IdSet(), 0, entry)
    others = 0
    with closing(Names(directory)) as names:
        for iri in names.unlabelled():
            match = _OF_WIKIDATA.fullmatch(iri)
            if match is None:
                others += 1
            else:
                (found.items if match[1] == "Q" else found.properties).add(int(match[2]))
    return Unlabelled(found.items, found.properties, others, entry)
