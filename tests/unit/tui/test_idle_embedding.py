"""Embedding while no question runs: when it begins, what stops it, and what it leaves alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from support.fake_embedder import FakeEmbedder

from atomr_local.indexing.text_index.filling import embed_text_index
from atomr_local.indexing.text_index.index import build_text_index
from atomr_local.settings.schema import Settings, load_settings
from atomr_local.tui.idle_embedding import IdleEmbedding, lacking_vectors
from atomr_local.tui.jobs import Job, Jobs, JobState


class FakeJobs(Jobs):
    """Starts and stops nothing real."""

    def __init__(self) -> None:
        super().__init__(lambda _job: None)

    def start(self, title: str, arguments: Sequence[str]) -> Job:
        self._jobs.append(Job(len(self._jobs) + 1, title, tuple(arguments)))
        return self._jobs[-1]

    def stop(self, job: Job) -> None:
        job.state = JobState.STOPPED


class World:
    """A program whose clock, question and indexes are set by the test."""

    def __init__(self, chosen: str = "wiki,notes") -> None:
        self.now, self.busy, self.chosen = 0.0, False, chosen
        self.lacking = {"wiki", "notes"}
        self.asked: list[list[str]] = []
        self.jobs = FakeJobs()
        self.idle = IdleEmbedding(self.jobs, self.settings, lambda: self.busy, self.find, clock=lambda: self.now)

    def settings(self) -> Settings:
        return load_settings(ui={"embed_idle": self.chosen})

    def find(self, names: Sequence[str], found: Callable[[str], None]) -> None:
        self.asked.append(list(names))
        found(next((name for name in sorted(self.lacking) if name in names), ""))

    def after(self, seconds: float) -> list[str]:
        self.now += seconds
        self.idle.look()
        return [job.arguments[2] for job in self.jobs.running]


def test_it_begins_after_a_while_of_quiet_and_takes_one_index_after_another() -> None:
    world = World()
    assert world.after(19) == []
    assert world.asked == []
    assert world.after(2) == ["notes"]
    assert world.idle.job is not None
    assert world.idle.job.arguments == ("text", "embed", "notes", "--background")
    assert world.after(60) == ["notes"]
    world.idle.job.state = JobState.DONE
    world.lacking.remove("notes")
    assert world.after(5) == ["wiki"]
    world.idle.job.state = JobState.DONE
    world.lacking.clear()
    assert world.after(5) == []
    assert len(list(world.jobs)) == 1, "those that have ended are forgotten"


def test_a_question_stops_it_at_once_and_it_waits_for_quiet() -> None:
    world = World()
    world.after(21)
    world.busy = True
    world.idle.stop()
    assert not world.jobs.running
    assert world.after(30) == []
    world.busy = False
    assert world.after(10) == []
    assert world.after(21) == ["notes"]


def test_another_job_stops_it_and_what_fails_is_left_alone() -> None:
    world = World()
    world.after(21)
    other = world.jobs.start("sync", ("text", "sync", "notes"))
    assert world.after(5) == ["notes"], "the other job alone"
    assert world.jobs.running == [other]
    other.state = JobState.DONE
    assert world.after(21) == ["notes"]
    assert world.idle.job is not None
    world.idle.job.state = JobState.FAILED
    assert world.after(5) == ["wiki"]


def test_what_is_not_chosen_is_not_embedded() -> None:
    world = World(chosen="")
    assert world.after(100) == []
    assert world.asked == [], "the disk is not read"
    world.chosen = "notes"
    assert world.after(5) == ["notes"]
    world.chosen = ""
    assert world.after(5) == []


def test_nothing_begins_where_a_question_began_while_it_looked() -> None:
    world = World()

    def find(_names: Sequence[str], found: Callable[[str], None]) -> None:
        world.busy = True
        found("wiki")

    idle = IdleEmbedding(world.jobs, world.settings, lambda: world.busy, find, clock=lambda: world.now)
    world.now = 30
    idle.look()
    assert not world.jobs.running


@pytest.mark.parametrize("chosen", [["mine"], ["all"]])
def test_an_index_that_lacks_vectors_is_found(tmp_path: Path, chosen: list[str]) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps({"id": "1", "title": "Como", "text": "Lake Como is deep."}))
    build_text_index([corpus], "whole", embedder=FakeEmbedder())
    build_text_index([corpus], "mine", embedder=FakeEmbedder(), vectors="later")
    assert lacking_vectors(chosen) == "mine"
    assert lacking_vectors(["whole"]) == lacking_vectors([]) == ""
    assert embed_text_index("mine", embedder=FakeEmbedder(), batch=1).missing == 0
    assert lacking_vectors(chosen) == ""
