"""Renders chat templates: known ones directly, all others in a process with limits.

A template is a program of whoever made the model file. Jinja's sandbox keeps it from Python, not from looping for ever
or filling the memory. What it makes of messages depends on their roles alone, for contents are placeholders, so each
sequence of roles is rendered once.
"""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
from collections.abc import Sequence

from atomr_local.backbone.llama.chat import template_worker

# For a model file without a template. Its markers are control tokens if the vocabulary has them, else plain text.
CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n'}}"
    "{% endfor %}{{ '<|im_start|>assistant\n' }}"
)
# SHA-256 of the starter's template, which has been read and renders in no time: no process is started for it.
_KNOWN = frozenset(
    ("872be49dbb638044ad01b60388f48d469ff2980e5f0dccdc22ec907db54d0788", hashlib.sha256(CHATML.encode()).hexdigest())
)
_CPU_SECONDS = 2
_SECONDS = 12  # a busy machine may take seconds to start Python
_MEMORY = 1 << 30
_CHARACTERS = 1 << 16


class TemplateError(Exception):
    """A template cannot be rendered; the text says why."""


class TemplateLimitError(TemplateError):
    """A template takes too long or too much; another try would as well."""


class ChatTemplate:
    """A template with the texts of the vocabulary's first and last token."""

    def __init__(self, template: str, *, eos: str, bos: str) -> None:
        self._task = {"template": template, "eos": eos, "bos": bos}
        self._known = hashlib.sha256(template.encode("utf-8", "surrogatepass")).hexdigest() in _KNOWN

    def render(self, turns: Sequence[dict[str, str]]) -> str:
        """What the template writes for these turns, each a `role` and a `content`, with the assistant's turn opened.

        Raises:
            TemplateError: it cannot be read or fails, takes too long or too much memory, or writes too much.
        """
        task = {**self._task, "turns": list(turns), "characters": _CHARACTERS}
        found = template_worker.outcome(task) if self._known else self._in_a_process(task)
        if "limit" in found:
            raise TemplateLimitError(found["limit"])
        if "text" not in found:
            raise TemplateError(str(found.get("error", "it gave nothing"))[:300])
        return str(found["text"])

    def _in_a_process(self, task: dict[str, object]) -> dict[str, str]:
        # -P: nothing is imported from the directory that the user happens to be in.
        command = [sys.executable, "-P", template_worker.__file__, str(_CPU_SECONDS), str(_MEMORY)]
        try:
            done = subprocess.run(
                command, input=json.dumps(task).encode(), capture_output=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise TemplateLimitError("it takes too long to render") from None
        except OSError as error:
            raise TemplateError(f"the process that renders it cannot be started: {error.strerror}") from error
        if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            raise TemplateLimitError("it takes too long to render")
        try:
            found: dict[str, str] = json.loads(done.stdout)
        except ValueError:
            raise TemplateError(f"rendering it failed (exit status {done.returncode})") from None
        return found
