"""The public interface: names that change only with the version's first number, and an import without side effects."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys

import pytest
from support import public_interface

import atomr_local

PUBLIC = sorted(atomr_local.__all__)


def test_names_signatures_and_fields_are_those_of_the_list() -> None:
    """A change shows in the list's diff: what is taken away or altered needs a new first number of the version."""
    assert public_interface.listing() == public_interface.FILE.read_text(encoding="utf-8"), (
        "the public interface has changed; if that is meant: .venv/bin/python tests/support/public_interface.py"
    )


def test_what_a_question_may_be_given_has_public_types() -> None:
    from atomr_local.assistant.asked import QuestionOptions

    named = {
        word
        for kind in QuestionOptions.__annotations__.values()
        for word in re.findall(r"[A-Z]\w+", kind.__forward_arg__)
    }
    assert named - {"None", "Sequence", "PlanOrigin"} == {"Tree", "Revision", "Conversation"}
    assert {"Tree", "Revision", "Conversation", "QuestionOptions"} <= set(PUBLIC)


def test_the_options_are_those_of_ask() -> None:
    given = inspect.signature(atomr_local.Assistant.ask).parameters
    assert [*given][2:] == [*atomr_local.QuestionOptions.__annotations__]


def test_a_plan_is_read_and_a_text_that_is_none_is_an_error_of_ours() -> None:
    plan = atomr_local.parse_plan('1. Who is the father of Ann? = Relate("Ann", "father")', "Who is Ann's father?")
    assert isinstance(plan, atomr_local.Tree)
    assert [node.question for node in plan.nodes()] == ["Who is Ann's father?", "Who is the father of Ann?"]
    for text in ("1. ", "{", '{"plan": 1}', "[]"):
        with pytest.raises(atomr_local.PlanError) as caught:
            atomr_local.parse_plan(text, "Who?")
        assert caught.value.hint


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there_and_described(name: str) -> None:
    found = getattr(atomr_local, name)
    assert name == "__version__" or found.__doc__


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match="'Nothing'"):
        _ = atomr_local.Nothing


def test_every_event_of_a_question_is_public() -> None:
    from atomr_local.reasoning.trace.events import Event

    def kinds(event: type) -> set[str]:
        """Those of a question; the HTTP server has its own beside them, for what happens to a request."""
        if event.__module__.startswith("atomr_local.server."):
            return set()
        return {event.__name__}.union(*(kinds(other) for other in event.__subclasses__()))

    assert kinds(Event) <= set(PUBLIC)


@pytest.mark.slow
def test_importing_changes_nothing_around_it() -> None:
    program = (
        "import json, os, signal, sys, threading\n"
        "before = dict(os.environ), [signal.getsignal(n) for n in signal.valid_signals()]\n"
        "from atomr_local import *\n"
        "after = dict(os.environ), [signal.getsignal(n) for n in signal.valid_signals()]\n"
        "print(json.dumps([before[0] == after[0], before[1] == after[1], threading.active_count()]))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [True, True, 1]
    assert done.stderr == ""
