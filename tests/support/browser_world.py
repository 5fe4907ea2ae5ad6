"""What the browser's server knows: a model that plans one question, a graph, and a text whose passage attacks the page."""

from __future__ import annotations

import threading
from typing import Any

from atomr_local.assistant.assistant import Assistant
from atomr_local.models.protocol import Generation, GenerationRequest
from atomr_local.settings.schema import load_settings
from atomr_local.sources.protocol import Request, Retrieval
from atomr_local.system.cancellation import Cancellation
from support.fake_parts import FakeBackbone, FakeSource, entity, passages, reply, rows

QUESTION = "Where was the director of Metropolis born?"
PLAN = """0. Where was the director of Metropolis born? = Answer(place)
1. Who directed Metropolis?
 3. What is Metropolis? = Search("Metropolis", "film")
 4. Who directed [3]? = Relate([3], "director")
2. Where was [1] born? = Relate([1], "place of birth")"""
ATTACK = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
_PASSAGE = f"Fritz Lang made films. He was born in Vienna in 1890. Then he left. {ATTACK}"
# What adds model calls of its own is not what the page is about.
_PLAIN = {"rival": False, "beam": False, "guess": False, "page_alone": False, "ask_on": False, "span_reader": False}


class Planner(FakeBackbone):
    """Plans every question as `PLAN` does, and reads "Vienna" in whatever it is shown."""

    def generate(self, request: GenerationRequest) -> Generation:
        asked = request.prompt.messages[-1].content
        self.replies = [reply("Vienna", evidence=[1]) if "[1] " in asked else PLAN]
        return super().generate(request)


class Gated(FakeSource):
    """Finds nothing until the gate is open, which it is at first."""

    def __init__(self, name: str, found: dict[str, Retrieval | Exception]) -> None:
        super().__init__(name, found)
        self.gate = threading.Event()
        self.gate.set()

    def retrieve(self, request: Request, cancellation: Cancellation) -> Retrieval:
        while not self.gate.wait(0.02):
            cancellation.check()
        return super().retrieve(request, cancellation)


class World:
    """The assistant with its parts."""

    def __init__(self, backbone: FakeBackbone | None = None, **settings: Any) -> None:
        self.backbone = backbone or Planner()
        self.graph = FakeSource(
            "graph",
            {
                "Metropolis film": rows("Metropolis", entity("Metropolis")),
                "Metropolis director": rows("Metropolis director", entity("Fritz Lang")),
            },
        )
        self.text = Gated(
            "text",
            {
                "Fritz Lang place of birth": passages((f"Fritz Lang {ATTACK}", _PASSAGE)),
                "Thea von Harbou place of birth": passages(("Thea von Harbou", "She was born in Tauperlitz, not in Vienna.")),
            },
        )  # fmt: skip
        self.assistant = Assistant(load_settings(**({"features": _PLAIN} | settings)), self.backbone)
        self.assistant.parts.sources = {"text": self.text, "graph": self.graph}
