"""Properties that a whole question asks for."""

from __future__ import annotations

import pytest
from support.graph_world import Asker, open_world

from atomr_local.indexing.graph_index.names.database import PropertyRow
from atomr_local.language.properties import PROPERTY
from atomr_local.sources.graph import GraphSource
from atomr_local.sources.graph.properties.matching import PropertyMatcher

LABELS = {
    "P19": "place of birth", "P569": "date of birth", "P20": "place of death", "P57": "director", "P50": "author",
    "P21": "sex or gender", "P27": "country of citizenship", "P495": "country of origin", "P136": "genre",
    "P915": "filming location", "P40": "child",
}  # fmt: skip


@pytest.fixture(scope="module")
def matcher() -> PropertyMatcher:
    rows = [PropertyRow(PROPERTY + pid, label, "", (), 1, 0, 0, 0) for pid, label in LABELS.items()]
    return PropertyMatcher(rows, None)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("where was sasha vujačić born", ("P19", False)),
        ("when was sasha vujačić born", ("P569", False)),
        ("Name someone who was born in Mytilene", ("P19", True)),
        ("where did friedrich kettler pass away", ("P20", False)),
        ("is rodney mullen male or female", ("P21", False)),
        ("who directed the film Endless Love?", ("P57", False)),
        ("what movie did liliana cavani direct?", ("P57", True)),
        ("What country is the film Ghost House from?", ("P495", False)),
        ("what is the filming location of Bonsai?", ("P915", False)),
    ],
)
def test_the_property_and_its_direction(matcher: PropertyMatcher, question: str, expected: tuple[str, bool]) -> None:
    best = matcher.match_question(question)[0]
    assert (best.property.removeprefix(PROPERTY), best.inverse) == expected


def test_among_what_an_entity_has(matcher: PropertyMatcher) -> None:
    own = {(PROPERTY + "P27", False), (PROPERTY + "P136", False)}
    ranked = matcher.match_question("what country is loyalties from", own)
    assert [(item.property, item.inverse) for item in ranked] == [(PROPERTY + "P27", False), (PROPERTY + "P136", False)]
    assert matcher.match_question("what country is loyalties from", set()) == []


@pytest.mark.parametrize("question", ["", "?", "who is it", "xyzzy " * 5_000])
def test_nothing_is_asked_for(matcher: PropertyMatcher, question: str) -> None:
    assert matcher.match_question(question) == []


def test_relate_takes_the_question_where_the_wording_says_nothing(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("ATOMR_HOME", str(home))
    with_embedder = open_world(home)
    ask = Asker(GraphSource(with_embedder.graph, None))
    assert ask.relate("Eiffel Tower", "its upward extent", "How tall is the Eiffel Tower?") == ["330 m"]
    assert ask.relate("Eiffel Tower", "its upward extent", "What is it about the Eiffel Tower?") == []
    assert ask.relate("Eiffel Tower", "its upward extent") == []
    with_embedder.close()
