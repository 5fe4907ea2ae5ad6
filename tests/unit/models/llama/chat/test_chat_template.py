"""Chat templates are programs of whoever made the model file: they end, and they fill no memory."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from atomr_local.models.gguf import read_header
from atomr_local.models.llama import chat as chat_template
from atomr_local.models.llama.chat import CHATML, ChatTemplate, TemplateError, TemplateLimitError

TURNS = [{"role": "user", "content": "Hé?"}]


def render(template: str) -> str:
    return ChatTemplate(template, eos="<e>", bos="<b>").render(TURNS)


def test_a_process_renders_what_this_one_would() -> None:
    template = "{{ bos_token }}{% generation %}{% for m in messages %}{{ m | tojson }}{% break %}{% endfor %}{% endgeneration %}{{ eos_token }}"
    assert render(template) == '<b>{"role": "user", "content": "Hé?"}<e>'
    assert render(CHATML + " ") == render(CHATML) + " " == "<|im_start|>user\nHé?<|im_end|>\n<|im_start|>assistant\n "


def test_known_templates_start_no_process(starter_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert "Hé?" in render(CHATML)
    assert "Hé?" in render(str(read_header(starter_file).values["tokenizer.chat_template"]))
    with pytest.raises(AssertionError, match="a process"):
        render(CHATML + " ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}x", "too long"),
        ("{{ 'a' * 10 ** 11 }}", "too much memory"),
        ("{{ 'a' * 100000 }}", "more than 65536 characters"),
    ],
)
def test_limits(monkeypatch: pytest.MonkeyPatch, template: str, said: str) -> None:
    monkeypatch.setattr(chat_template, "_CPU_SECONDS", 1)
    with pytest.raises(TemplateLimitError, match=said):
        render(template)


def test_what_ends_the_process_or_raises_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TemplateError, match="never again"):
        render("{{ raise_exception('never again') }}")
    monkeypatch.setattr(chat_template, "_MEMORY", 1 << 20)  # not even Python starts
    with pytest.raises(TemplateError):
        render("{{ messages }}")
