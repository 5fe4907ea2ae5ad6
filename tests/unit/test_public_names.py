"""The public interface: names that change only with the version's first number, and an import without side effects."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import atomr_local

PUBLIC = [
    "Answer",
    "AnswerReady",
    "Assistant",
    "AtomrError",
    "Cancelled",
    "Event",
    "EvidenceFound",
    "EvidenceTrace",
    "Finished",
    "LeavesMachine",
    "ModelCalled",
    "NodeAdded",
    "NodeFinished",
    "NodeJudged",
    "NodeStarted",
    "NodeTrace",
    "PlanFragment",
    "PlanReady",
    "QuestionAsked",
    "QuestionUnderstood",
    "RetrievalStarted",
    "Settings",
    "SourcesSelected",
    "StageChanged",
    "Step",
    "TextGenerated",
    "Trace",
    "WarningRaised",
    "__version__",
]
ASSISTANT = [
    "aanswer",
    "answer",
    "ask",
    "astream",
    "cancel",
    "close",
    "do_again",
    "example_questions",
    "lookups",
    "model_tools",
    "open",
    "plan",
    "preload",
    "query_graph",
    "reconfigure",
    "set_web",
    "settings",
    "stop_loading",
    "stream",
    "web_enabled",
]
ANSWER = ["advice", "basis", "confidence", "evidence", "export", "guess", "question", "reason", "status", "text", "trace", "tree", "values"]  # fmt: skip


def test_the_public_names_are_these() -> None:
    assert sorted(atomr_local.__all__) == PUBLIC
    assert [name for name in dir(atomr_local.Assistant) if not name.startswith("_")] == ASSISTANT
    assert [name for name in dir(atomr_local.Answer) if not name.startswith("_")] == ANSWER


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
        if event.__module__.startswith("atomr_local.http_server."):
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
