from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from atomr_local.indexing.readers.base import Section
from atomr_local.indexing.text_index.chunking import passages

LONG = (
    "One two three four five six seven eight nine ten. Eleven twelve thirteen fourteen fifteen sixteen seventeen. " * 2
)


def test_a_passage_ends_where_a_section_begins_and_knows_its_heading() -> None:
    text = LONG + LONG
    found = list(passages(text, 120, [Section(len(LONG), "History > Early")]))
    assert [(p.start, p.section) for p in found] == [(0, ""), (len(LONG), "History > Early")]
    assert found[0].text == LONG.strip()


def test_a_long_section_makes_several_passages_of_its_heading() -> None:
    found = list(passages("Lead. " + LONG, 20, [Section(6, "History")]))
    assert [p.section for p in found] == ["", "History", "History"]
    assert all(len(p.text.split()) <= 20 for p in found)


def test_sections_too_short_to_stand_alone_go_with_the_one_before() -> None:
    text = LONG + "Born here.\n\nDied there."
    at = len(LONG)
    sections = [Section(at, "Birth"), Section(text.index("Died"), "Death")]
    (found,) = passages(text, 120, sections)
    assert (found.text, found.section) == (text, "")
    found, last = passages(text, 35, sections)
    assert (found.text, last.text, last.section) == (LONG.strip(), "Born here.\n\nDied there.", "Birth")


def test_a_text_that_begins_with_a_heading_has_no_lead() -> None:
    (found,) = passages("All of it.", 120, [Section(0, "Plot")])
    assert found.section == "Plot"


@given(
    st.text(st.sampled_from("ab .!\n é"), max_size=300), st.integers(1, 12), st.sets(st.integers(0, 300), max_size=8)
)
def test_passages_cover_a_text_with_sections_in_order(text: str, budget: int, starts: set[int]) -> None:
    sections = [Section(start, f"s{start}") for start in sorted(starts) if start <= len(text)]
    headings = {"": 0} | {section.heading: section.start for section in sections}
    end = 0
    for passage in passages(text, budget, sections):
        assert end <= passage.start < passage.end
        assert passage.text == text[passage.start : passage.end]
        assert not text[end : passage.start].strip()
        assert len(passage.text.split()) <= budget
        assert headings[passage.section] <= passage.start
        assert not any(headings[passage.section] < section.start <= passage.start for section in sections)
        end = passage.end
    assert not text[end:].strip()


def test_what_is_no_prose_has_passages_of_its_own_between_lines() -> None:
    rows = [f"Name: Number {n}. Yes; Born: {n}" for n in range(9)]
    text = "Short lead.\n\nShort end.\n\n" + "\n".join(rows) + "\n\nA: 1"
    table = text.index(rows[0])
    sections = [
        Section(13, "Life"),
        Section(table, "Life > People", "table", "1"),
        Section(len(text) - 4, "", "infobox", "film"),
    ]
    prose, *kinds = passages(text, 14, sections)
    assert (prose.text, prose.kind, prose.lines) == ("Short lead.\n\nShort end.", "", None)
    assert [(p.text, p.lines) for p in kinds] == [
        ("\n".join(rows[:2]), (1, 2)),
        ("\n".join(rows[2:4]), (3, 4)),
        ("\n".join(rows[4:6]), (5, 6)),
        ("\n".join(rows[6:8]), (7, 8)),
        (rows[8], (9, 9)),
        ("A: 1", (1, 1)),
    ]
    assert {(p.section, p.kind, p.name) for p in kinds[:-1]} == {("Life > People", "table", "1")}
    assert (kinds[-1].kind, kinds[-1].name) == ("infobox", "film")


def test_a_line_over_the_budget_is_cut_between_words() -> None:
    found = list(passages("a b c d e\nf", 2, [Section(0, "", "table", "1")]))
    assert [(p.text, p.lines) for p in found] == [("a b", (1, 1)), ("c d", (1, 1)), ("e\nf", (1, 2))]
