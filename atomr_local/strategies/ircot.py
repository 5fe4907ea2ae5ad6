"""IRCoT: retrieval interleaved with a chain of thought (Trivedi et al., ACL 2023).

Each sentence of the chain is the next query. A second call reads what was collected and knows nothing of the chain.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pydantic import Field
from rapidfuzz import fuzz

from atomr_local.language.sentences import gives_answer, only_concludes, search_words, sentences
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.steps import Step
from atomr_local.sources.protocol import Evidence, Request, SourceName
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.shared.closing import read_whole, result_of
from atomr_local.strategies.shared.tools import searched, told
from atomr_local.strategies.shared.work import StepwiseStrategy, Work
from atomr_local.tree.nodes import ROOT_ID

_SAME = 90.0  # edit ratio of 100 from which two titles, and two texts, are the same


class IRCoTOptions(StrategyOptions):
    """How much is retrieved and written."""

    k: int = Field(
        4, ge=1, le=20, description="Paragraphs per retrieval; published: 2, 4, 6 or 8, chosen per data set."
    )
    paragraphs: int = Field(15, ge=1, le=50, description="The most paragraphs that are collected; published: 15.")
    sentences: int = Field(8, ge=0, le=20, description="The most sentences of the chain; published: 8.")


@dataclass(eq=False)
class _Chain(Work[IRCoTOptions]):
    """The paragraphs collected so far and the sentences written so far."""

    _paragraphs: list[Evidence] = field(default_factory=list, init=False)
    _sentences: list[str] = field(default_factory=list, init=False)

    def go(self) -> None:
        """Retrieve and write in turns, until a sentence gives the answer, nothing is written, or a limit is reached."""
        written = ""  # of a step that fails, too
        with self.tools.steps.open(self.question, label="first search") as step:
            self._collect(step, self.question)
            written = self._next(step)
        while written:
            self._sentences.append(written)
            sentence, written = written, ""
            with self.tools.steps.open(sentence, label=f"sentence {len(self._sentences)}") as step:
                if not gives_answer(sentence):
                    self._collect(step, self._query())
                    written = self._next(step)

    def conclude(self) -> Result:
        """The answer that is read from the paragraphs."""
        reading = read_whole(self.tools, ROOT_ID, self.question, self._paragraphs)
        return result_of(reading, "direct_rag", self._paragraphs)

    def _query(self) -> str:
        """The last sentence that tells a fact; without one, the question."""
        facts = (sentence for sentence in reversed(self._sentences) if not only_concludes(sentence))
        return search_words(next(facts, self.question))

    def _collect(self, step: Step, query: str) -> None:
        """Search, and add what is new while there is room."""
        request = Request(self.question, query, top_k=self.options.k)
        sources = [name for name in (SourceName.TEXT, SourceName.WEB) if name in self.tools.retriever.names]
        gathered = searched(self.tools, step.id, request, self.question, sources=sources)
        found = Result(evidence=gathered.evidence, dropped=[*gathered.dropped, *gathered.problems])
        found.observation = told(gathered.evidence)
        step.result = found
        room = self.options.paragraphs - len(self._paragraphs)
        new = [item for item in found.evidence if not self._known(item)]
        self._paragraphs.extend(new[:room])
        if len(new) > room:
            found.dropped.append(f"{len(new) - room} paragraphs left out (limit {self.options.paragraphs})")

    def _known(self, item: Evidence) -> bool:
        """Whether a paragraph like it has been collected."""
        return any(
            one.id == item.id or (_alike(one.title, item.title) and _alike(one.text, item.text))
            for one in self._paragraphs
        )

    def _next(self, step: Step) -> str:
        """The next sentence of the chain; "" if there is none."""
        if len(self._sentences) >= self.options.sentences or not self.may_ask():
            return ""
        written, notes = self.tasks.next_sentence(step.id, self._paragraphs, self._sentences)
        text = _first_sentence(written)
        repeated = any(_alike(text, earlier) for earlier in (self.question, *self._sentences))
        if repeated:
            notes.append(f"the chain ends here: the model repeated “{text}”")
        step.result = replace(step.result, thought=text, dropped=[*step.result.dropped, *notes])
        return "" if repeated else text


class IRCoT(StepwiseStrategy):
    name = "ircot"
    summary = "write a chain of thought, search with each sentence, and answer from everything found"
    paper = (
        "Trivedi et al.: Interleaving Retrieval with Chain-of-Thought Reasoning for Knowledge-Intensive Multi-Step "
        "Questions, ACL 2023"
    )
    needs = frozenset({"text"})
    options = IRCoTOptions
    work = _Chain


def _alike(one: str, other: str) -> bool:
    return fuzz.ratio(one, other) >= _SAME


def _first_sentence(text: str) -> str:
    """The first sentence with a word in it; a number of a passage, such as "[3]", is none."""
    pieces = (text[begin:end].strip() for begin, end in sentences(text))
    return next((piece for piece in pieces if any(map(str.isalpha, piece))), "")
