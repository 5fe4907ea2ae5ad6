"""Which version of a follow-up question counts, and what grammar makes of one alone."""

from __future__ import annotations

import pytest

from atomr_local.language.referring import references
from atomr_local.reasoning.conversation import Conversation, EarlierTurn, counts, resolved


def after(question: str, answer: str) -> Conversation:
    return Conversation("t1", (EarlierTurn("t1", question, answer),))


HOBBIT = after("Who wrote The Hobbit?", "J. R. R. Tolkien")
WAGNER = after("Who was Richard Wagner's wife?", "Cosima Wagner")
FATHER = after("Who was Richard Wagner's father?", "Franz Liszt")
BUSH = after("Who was George H. W. Bush's son?", "George W. Bush")
FRANCE = after("What is the capital of France?", "Paris")
GERMANY = Conversation("t1", (*FRANCE.turns, EarlierTurn("t2", "What is the capital of Germany?", "Berlin")))
TALKED_OF = Conversation(
    "t1", (*HOBBIT.turns, EarlierTurn("t2", "Who was J. R. R. Tolkien's mother?", "Mabel Suffield"))
)
FILMS = after("Which films did Jean Renoir direct?", "Nana; Toni; The River")
BORN = after("When was Mary Shelley born?", "30 August 1797")
WARSAW = after("Where was Marie Curie born?", "Warsaw")
QUOTED = after('Who plays Eve in "Life-Line (1999)"?', "Jean-Paul O’Brien")


@pytest.mark.parametrize(
    ("conversation", "typed", "written"),
    [
        (HOBBIT, "when was he born?", "When was J. R. R. Tolkien born?"),
        (HOBBIT, "when was he born?", "When was J.R.R. Tolkien born?"),
        (HOBBIT, "when was he born?", "When was JRR Tolkien born?"),
        (HOBBIT, "what else did he write?", "What else has Tolkien written?"),
        (BUSH, "when was he born?", "When was George W. Bush born?"),
        (QUOTED, "when was he born", "When was Jean-Paul O'Brien born?"),
        (QUOTED, "who directed it", 'Who directed "Life-Line (1999)"?'),
        (FRANCE, "and of Germany?", "What is the capital of Germany?"),
        (FRANCE, "and of germny?", "What is the capital of Germany?"),
        (FATHER, "what about Verdi?", "Who was the father of Verdi?"),
        (FATHER, "and his mother?", "Who was Richard Wagner's mother?"),
        (WAGNER, "her father?", "Who was Cosima Wagner's father?"),
        (BORN, "and in which city?", "In which city was Mary Shelley born?"),
    ],
)
def test_a_version_that_keeps_and_adds_nothing_counts(conversation: Conversation, typed: str, written: str) -> None:
    assert counts(typed, written, references(typed), conversation)


@pytest.mark.parametrize(
    ("conversation", "typed", "written"),
    [
        (HOBBIT, "when was he born?", "When was He father of He author of The Scarlett O'rouse?"),
        (HOBBIT, "when was he born?", "Where was J. R. R. Tolkien born?"),
        (HOBBIT, "when was he born?", "When was The Hobbit born?"),
        (HOBBIT, "and where?", "Where is the museum of the artist?"),
        (HOBBIT, "what else did he write?", "What else did Shakespeare write?"),
        (HOBBIT, "what else did he write?", "What did J. R. R. Tolkien write?"),
        (HOBBIT, "and his wife?", "What did the wife of Shakespeare do for a living?"),
        (HOBBIT, "in 1937?", "Who wrote The Hobbit in 1938?"),
        (WAGNER, "her father?", "Who was Richard Wagner's father?"),
        (WAGNER, "her father?", "Who was her father?"),
        (FATHER, "why?", "Why did Giuseppe Verdi die?"),
        (FRANCE, "Who?", "Who is the CEO of the organization that owns the company that owns"),
        (FRANCE, "which countries does it border?", "Which countries does Paris border, the country that"),
        (FRANCE, "and of Germany?", "What is the capital of Germany [A]"),
        (FRANCE, "and of Germany?", "What is the capital of Germany? Answer(place)"),
        (FRANCE, "and of Germany?", "What is the capital of Germany? What is the capital of France?"),
        (BUSH, "when was he born?", "When was George H. W. Bush born?"),
        (GERMANY, "which countries does it border?", "Which countries does France border?"),
        (WARSAW, "capital?", "Is the capital of Warsaw the capital of Warsaw?"),
        (WARSAW, "she?", ""),
    ],
)
def test_another_question_does_not_count(conversation: Conversation, typed: str, written: str) -> None:
    assert not counts(typed, written, references(typed), conversation)


@pytest.mark.parametrize(
    ("conversation", "typed", "put"),
    [
        (HOBBIT, "when was he born?", "When was J. R. R. Tolkien born?"),
        (HOBBIT, "what else did he write?", "What else did J. R. R. Tolkien write?"),
        (HOBBIT, "and his wife?", "Who is J. R. R. Tolkien's wife?"),
        (HOBBIT, "his nationality?", "What is J. R. R. Tolkien's nationality?"),
        (HOBBIT, "who published it?", "Who published The Hobbit?"),
        (WAGNER, "her father?", "Who is Cosima Wagner's father?"),
        (FATHER, "what about Verdi?", "Who was Verdi's father?"),
        (FATHER, "and his mother?", "Who was Richard Wagner's mother?"),
        (FATHER, "and the mother?", "Who was Richard Wagner's mother?"),
        (FRANCE, "and of Germany?", "What is the capital of Germany?"),
        (FRANCE, "how many people live there?", "How many people live in Paris?"),
        (FRANCE, "who comes from there?", "Who comes from Paris?"),
        (FILMS, "when was the second one released?", "When was Toni released?"),
        (BORN, "and where?", "Where was Mary Shelley born?"),
        (BORN, "and when did she die?", "When did Mary Shelley die?"),
        (BUSH, "when was he born?", "When was George W. Bush born?"),
        (QUOTED, "when was he born", "When was Jean-Paul O’Brien born"),
    ],
)
def test_grammar_replaces_what_is_unambiguous(conversation: Conversation, typed: str, put: str) -> None:
    assert resolved(typed, references(typed), conversation) == put


@pytest.mark.parametrize(
    ("conversation", "typed"),
    [
        (HOBBIT, "and where?"),
        (HOBBIT, "why?"),
        (HOBBIT, "when was that?"),
        (HOBBIT, "the second one"),
        (FRANCE, "which countries does it border?"),
        (FRANCE, "when was he born?"),
        (TALKED_OF, "when was she born?"),
        (FILMS, "the fourth one"),
        (after("Was Darwin older than Lincoln?", "no"), "when was he born?"),
        (after("Was Darwin older than Lincoln?", "no"), "what about Verdi?"),
        (after("Who starred in Jaws?", "Roy Scheider; Robert Shaw"), "when was he born?"),
        (after("", ""), "when was he born?"),
    ],
)
def test_what_may_mean_several_things_stays_open(conversation: Conversation, typed: str) -> None:
    assert resolved(typed, references(typed), conversation) == ""
