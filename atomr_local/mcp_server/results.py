"""What the tools give, as models whose JSON schemas clients are told."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from atomr_local.answer import Answer
from atomr_local.reasoning.trace.events import Event, NodeFinished, NodeStarted, PlanReady, StageChanged
from atomr_local.reasoning.trace.schema import EvidenceTrace
from atomr_local.sanitize import sanitize, sanitize_line
from atomr_local.serving.machine_paths import without_paths
from atomr_local.sources.place_words import place_words
from atomr_local.sources.protocol import Evidence, Linked, Page, PropertyOffer, Retrieval, Value

VALUES, MOST_VALUES = 100, 10_000  # of a relation: by default, and at most


def page_address(server: str, trace: str, evidence: str = "") -> str:
    """Where a browser shows a trace, and in it a piece of evidence; empty without a server."""
    piece = f"&evidence={evidence}" if evidence else ""
    return f"{server}#trace={trace}{piece}" if server else ""


class Passage(BaseModel):
    """A piece of evidence."""

    id: str = Field(description="Id within the answer; empty for a search.")
    source: str = Field(description="text, graph or web.")
    title: str
    text: str
    place: str = Field(description="File and place for a document of the user's, such as 'report.pdf, p. 3'.")
    url: str = Field(description="Its address, else that of the page which shows it; empty where neither is.")

    @classmethod
    def of(cls, item: Evidence | EvidenceTrace, page: str = "") -> Passage:
        """`page`: the address that shows it, where it has none of its own."""
        url = item.locator.get("url", page)
        return cls(
            id=item.id,
            source=sanitize(item.source),
            title=sanitize(item.title),
            text=sanitize(item.text),
            place=sanitize(place_words(item.locator)),
            url=sanitize(url) if isinstance(url, str) else "",
        )


class TreeStep(BaseModel):
    """A node of the reasoning tree."""

    id: int
    parent: int | None
    question: str
    answers: list[str]
    confidence: float | None
    citations: list[str] = Field(description="Ids of the passages that it cites.")


class Answered(BaseModel):
    """An answer that can be checked."""

    answer: str = Field(description="The answer as a sentence; empty if the status is not answered.")
    values: list[str] = Field(description="The bare answers.")
    status: str = Field(description="answered, unknown, failed or cancelled.")
    confidence: float | None = Field(description="How likely it is right, 0 to 1.")
    basis: str = Field(description="evidence, or model: the model's own knowledge, which nothing supports.")
    reason: str = Field(description="Why there is no answer.")
    advice: list[str] = Field(description="What could be done about that.")
    guess: list[str] = Field(description="A guess, where the status is unknown. It is not an answer.")
    citations: list[Passage] = Field(description="The passages that the steps cite.")
    tree: list[TreeStep] = Field(description="The steps, the whole question first.")
    trace: str = Field(description="The URI of the resource that has everything.")
    page: str = Field(description="Address for a browser that shows the answer and its evidence; empty over stdio.")

    @classmethod
    def of(cls, answer: Answer, server: str = "") -> Answered:
        """`server`: the address of the one that has the page for browsers, with a slash at its end; empty: none has."""
        tree, identifier = answer.tree, answer.trace.id
        return cls(
            answer=sanitize(answer.text),
            values=[sanitize(value) for value in answer.values],
            status=answer.status,
            confidence=answer.confidence,
            basis=answer.basis,
            reason=sanitize(answer.reason),
            advice=[sanitize(item) for item in answer.advice],
            guess=[sanitize(item) for item in answer.guess.answers] if answer.guess is not None else [],
            citations=[Passage.of(item, page_address(server, identifier, item.id)) for item in answer.evidence],
            tree=[
                TreeStep(
                    id=step.node.id,
                    parent=step.node.parent,
                    question=sanitize(step.node.resolved_question or step.node.question),
                    answers=[sanitize(item) for item in step.node.answers],
                    confidence=step.node.confidence,
                    citations=list(step.node.cited),
                )
                for step in (tree.walk() if tree is not None else ())
            ],
            trace=f"atomr://trace/{identifier}",
            page=page_address(server, identifier),
        )


class Found(BaseModel):
    """What a search found, best first."""

    passages: list[Passage]


class PageText(BaseModel):
    """A page, or titles like the one asked for."""

    title: str
    text: str
    similar_titles: list[str] = Field(description="Where there is no such page: titles like it.")

    @classmethod
    def of(cls, page: Page) -> PageText:
        text = " ".join(sentence.text.strip() for sentence in page.sentences)
        return cls(title=sanitize(page.title), text=sanitize(text), similar_titles=[])


class Entity(BaseModel):
    """An entity of the graph, or a plain value."""

    label: str
    iri: str = Field(description="Its IRI in the graph; empty for a date, a number or a text.")
    description: str

    @classmethod
    def of(cls, value: Value, description: str = "") -> Entity:
        return cls(label=sanitize(value.text), iri=sanitize(value.iri or ""), description=sanitize(description))


class Entities(BaseModel):
    """The entities that a name may mean, best first."""

    entities: list[Entity]

    @classmethod
    def of(cls, found: tuple[Linked, ...]) -> Entities:
        return cls(entities=[Entity.of(item.entity, item.description) for item in found])


class Related(BaseModel):
    """What a relation leads to."""

    entity: Entity | None = Field(description="What the name was taken for.")
    values: list[Entity]
    evidence: list[Passage]
    near: list[str] = Field(description="Where nothing was found: properties that the entity has.")
    notes: list[str] = Field(description="What was left out or could not be told apart.")

    @classmethod
    def of(cls, found: Retrieval, limit: int) -> Related:
        """At most `limit` of the values; a note says how many there are."""
        more = [f"{limit} of {len(found.values)} values"] if len(found.values) > limit else []
        return cls(
            entity=Entity.of(found.linked) if found.linked is not None else None,
            values=[Entity.of(value) for value in found.values[:limit]],
            evidence=[Passage.of(item) for item in found.evidence],
            near=[sanitize(label) for label in found.near],
            notes=[without_paths(sanitize(note)) for note in [*more, *found.dropped]],
        )


class Rows(BaseModel):
    """What a query gave; `truncated`: there are more rows."""

    columns: list[str]
    rows: list[list[str]]
    truncated: bool


def described(label: str, offers: tuple[PropertyOffer, ...]) -> dict[str, Any]:
    """An entity's properties for the resource, a few values of each."""
    return {
        "label": sanitize(label),
        "properties": [
            {
                "property": sanitize(offer.label),
                "iri": sanitize(offer.iri),
                "inverse": offer.inverse,
                "count": offer.count,
                "values": [sanitize(value.text) for value in offer.values],
            }
            for offer in offers
        ],
    }


def progress_text(event: Event) -> str:
    """What a person who waits is told; empty for what is of no interest."""
    match event:
        case StageChanged():
            return sanitize_line(event.stage)
        case PlanReady():
            return f"plan of {sum(1 for _ in event.tree.nodes())} steps"
        case NodeStarted():
            return sanitize_line(event.resolved_question)
        case NodeFinished() if event.answers:
            return sanitize_line("; ".join(event.answers))
    return ""
