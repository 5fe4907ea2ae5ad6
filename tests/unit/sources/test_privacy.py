"""Private indexes: what is read in them stays on this machine."""

from __future__ import annotations

import pytest

from atomr_local.assistant.asked import Asked
from atomr_local.errors import InputError
from atomr_local.reasoning.conversation import Conversation, EarlierTurn
from atomr_local.settings.schema import Settings, load_settings
from atomr_local.sources.privacy import check_private, private_indexes, read_indexes, withheld_indexes


def settings(**more: object) -> Settings:
    return load_settings(**{"text_index": "wiki,notes", "privacy": {"indexes": "notes, diary"}} | more)


def test_nothing_leaves_a_question_on_this_machine() -> None:
    check_private(settings(), ("text", "graph"), web=False)
    check_private(settings(endpoint={"url": "http://127.0.0.1:8080/v1"}), ("text",), web=False)
    check_private(settings(text_index="wiki"), ("text",), web=True)
    check_private(settings(), ("graph",), web=True)
    assert private_indexes(settings(), ("text", "graph")) == ["notes"]


def test_web_search_and_a_remote_model_are_refused() -> None:
    with pytest.raises(InputError, match="the index notes is private, and web search is on") as caught:
        check_private(settings(), ("text",), web=True)
    assert "--share-private" in caught.value.hint
    remote = {"url": "https://models.example.org/v1"}
    with pytest.raises(InputError, match=r"another machine \(models.example.org\)"):
        check_private(settings(endpoint=remote), ("text",), web=False)
    with pytest.raises(InputError, match="the index diary is private"):
        check_private(settings(graph_index="diary", text_index="wiki"), ("text", "graph"), web=True)


def test_the_users_word_lets_it_leave() -> None:
    check_private(settings(privacy={"indexes": "notes", "share": True}), ("text",), web=True)


def test_what_may_quote_a_private_index_is_withheld_from_questions_that_do_not_read_it() -> None:
    assert withheld_indexes(settings(), ("text",)) == {"diary"}
    assert withheld_indexes(settings(), ("graph", "web")) == {"notes", "diary"}
    assert withheld_indexes(settings(), ()) == {"notes", "diary"}
    assert withheld_indexes(settings(privacy={"indexes": "notes", "share": True}), ()) == frozenset()
    assert read_indexes(settings(graph_index="facts"), ("text", "graph")) == ["facts", "notes", "wiki"]


def asked(given: Settings, *, web: bool, conversation: Conversation | None = None) -> Asked:
    return Asked.checked(
        "Who rented the boat?", given, web, strategy="rag", sources=("text",), conversation=conversation
    )


def test_a_question_is_refused_before_anything_is_loaded() -> None:
    given = settings(text_index="", privacy={"indexes": "starter"})
    with pytest.raises(InputError, match="private"):
        asked(given, web=True)
    assert asked(given, web=False).sources == ("text",)


def test_a_follow_up_question_carries_no_private_answer_to_the_web() -> None:
    turn = EarlierTurn("t1", "Who rented the boat?", "Ann", settings={"text_index": "wiki,notes"})
    conversation = Conversation("t1", (turn,))
    with pytest.raises(InputError, match="earlier answer"):
        asked(settings(text_index=""), web=True, conversation=conversation)
    asked(settings(text_index=""), web=False, conversation=conversation)
    asked(settings(text_index=""), web=True)
