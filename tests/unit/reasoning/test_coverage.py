"""What a plan leaves out of its question: told by name, judged by no list of words."""

from __future__ import annotations

import pytest

from atomr_local.reasoning.planning.coverage import left_out, unpicked
from atomr_local.reasoning.planning.planner import fallback_tree
from atomr_local.tree.compact import parse_compact


@pytest.mark.parametrize(
    ("question", "plan", "left"),
    [
        (
            "Could you tell me the hometown of the lady who came up with Moomins?",
            '1. Who created Moomins? = Relate("Moomins", "creator")\n2. Where was [1] born? = Relate([1], "birthplace")',
            (),
        ),
        ("Who directed the 1948 film Hamlet?", '1. Who directed it? = Relate("Hamlet", "director")', ("1948",)),
        ("Who directed the 1948 film Hamlet?", '1. Who? = Relate("Hamlet (1948 film)", "director")', ()),
        ("Did Ann Lee meet J. Brown?", '1. Whom did Ann Lee meet? = Relate("Ann Lee", "met")', ("Brown",)),
        ("Is Emma's author older than Dracula's?", '1. Who wrote Emma? = Relate("Emma", "author")', ("Dracula",)),
        ("What did I'd say of X-rays?", '1. Who found X-rays? = Relate("X-rays", "discoverer")', ()),
        ("Who is the mother of Beyoncé?", '1. a = Relate("Beyonce", "mother")', ()),
        (
            "Which countries have more than 6 million people?",
            '1. a = Relate("Europe", "country")\n2. b = Relate([1], "population")\n3. c = Select([2], "6000000", "larger")',
            (),
        ),
        ("films from 2008 on", '1. a = Relate("Sasi", "films")\n2. b = Select([1], "2007", "later")', ()),
        ("1. which of those films came in the 70s 2. or 1980s", '1. a = Relate("Emma", "author")', ()),
        ("how many of 12 weigh over 3.5 kg in 2001", '1. a = Relate("Emma", "author")', ("12", "3.5", "2001")),
        ("Which have more than 6,000,000 people?", '1. a = Relate("Europe", "country")', ("6000000",)),
        ("which of them did ann write", '1. a = Relate("Emma", "author")', ()),
        ("Who Wrote The Book Emma Then", '1. a = Relate("Emma", "author")', ()),
        ("Quick question: Who wrote Emma? Also Persuasion", '1. a = Relate("Emma", "author")', ("Persuasion",)),
        ("", '1. a = Relate("Emma", "author")', ()),
    ],
)
def test_names_and_numbers_that_no_step_has_are_told(question: str, plan: str, left: tuple[str, ...]) -> None:
    assert left_out(parse_compact(plan, question or "?"), question) == left


def test_a_plan_without_steps_has_what_the_question_as_understood_has() -> None:
    assert left_out(parse_compact("0. Who wrote Emma? = Answer(person)"), "hm so who wrote Emma in 1815") == ("1815",)
    right = parse_compact("0. Tell me about Jöns Jacob Berzelius. = Answer(summary)")
    assert left_out(right, "tell me about Jöns Jacob Berezlius") == ()
    assert left_out(right, "tell me about Jöns Jacob Ångström") == ("Ångström",)
    assert left_out(fallback_tree("Who wrote Emma in 1815?"), "Who wrote Emma in 1815?") == ()


@pytest.mark.parametrize(
    ("question", "plan", "wish"),
    [
        ("Which country does the Nile reach last?", '1. a = Search("Nile")\n2. b = Relate([1], "country")', ("last",)),
        (
            "Which country does the Nile reach last?",
            '1. Which country does it reach last? = Relate("Nile", "country")',
            (),
        ),
        ("Who was her second husband?", '1. a = Relate("Ann Lee", "spouse")', ("second",)),
        ("Who was her second husband?", '1. a = Relate("Ann Lee", "second husband")', ()),
        ("Which is her longest book?", '1. a = Relate("Ann Lee", "book")', ("longest",)),
        (
            "Which is her longest book?",
            '1. a = Relate("Ann Lee", "book")\n2. b = Relate([1], "pages")\n3. c = Compare([2], "larger")',
            (),
        ),
        ("Which countries fought in the First World War?", '1. a = Relate("World War I", "participant")', ()),
        ("Which forest is in Budapest?", '1. a = Relate("Budapest", "forest")', ()),
        ("Who wrote her first book?", "0. Who wrote her book? = Answer(person)", ()),
    ],
)
def test_a_word_that_picks_one_of_several_is_missed(question: str, plan: str, wish: tuple[str, ...]) -> None:
    assert unpicked(parse_compact(plan, question), question) == wish
