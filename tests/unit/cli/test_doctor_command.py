from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Atomr
from support.gguf_files import lora_adapter
from support.places import ROOT

from atomr_local import __version__
from atomr_local.cli import doctor as doctor_command
from atomr_local.cli.doctor import Finding
from atomr_local.errors import ModelError
from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing


def findings(atomr: Atomr, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(atomr("doctor", *options, "--json", status=None).out)
    return found


def doctor(atomr: Atomr) -> dict[str, dict[str, str]]:
    """What is not ok, by part; the exit status goes with it."""
    bad = {item["part"]: item for item in findings(atomr) if item["state"] != "ok"}
    assert atomr.status == (1 if bad else 0)
    return bad


@pytest.mark.parametrize(
    "wrong",
    [
        [("model = ", "settings", "config.toml")],
        [
            ('model = "gigantic"', "model", "gigantic"),
            ('embedder = "/nope"', "embedder", "/nope"),
            ('text_index = "nosuch"', "text index in use", "nosuch"),
            ('graph_index = "nosuch"', "graph index in use", "nosuch"),
            ('strategy = "nosuch"', "strategy", "nosuch"),
            ("strategies.rag.topk = 3", "options of rag", "topk"),
            ('retrieval.reranker = "/nope"', "reranker", "/nope"),
        ],
        [
            ('adapter = "nosuch"', "adapter", "nosuch"),
            ("strategies.rag.top_k = 99", "options of rag", "at most 50"),
        ],
        [('adapter = "/nope.gguf"', "adapter", "/nope.gguf")],
        [('endpoint.url = "bogus"', "endpoint", "bogus")],
    ],
    ids=["no TOML", "names", "an adapter by name", "an adapter by path", "endpoint"],
)
def test_what_the_settings_choose_and_is_not_there(
    atomr: Atomr, own_home: Path, wrong: list[tuple[str, str, str]]
) -> None:
    (own_home / "config.toml").write_text("\n".join(line for line, _, _ in wrong))
    found = doctor(atomr)
    for _, part, named in wrong:
        assert named in found[part]["detail"]
        assert found[part]["advice"]


def test_options_are_looked_at_and_those_of_a_strategy_that_is_not_installed_are_no_fault(
    atomr: Atomr, own_home: Path
) -> None:
    (own_home / "config.toml").write_text("strategies.rag.top_k = 4\nstrategies.gone.x = 1\n")
    found = {item["part"]: item for item in findings(atomr)}
    assert (found["options of rag"]["state"], found["options of rag"]["detail"]) == ("ok", "top_k = 4")
    assert found["options of gone"]["state"] == "ok"
    assert "no strategy named 'gone' is installed" in found["options of gone"]["detail"]
    (own_home / "config.toml").write_text('[strategies."a\\u001b[2Jb"]\nx = 1\n')
    assert "\x1b" not in atomr("doctor", status=None).out


def test_an_adapter_is_no_model(atomr: Atomr, own_home: Path) -> None:
    file = lora_adapter(own_home / "lora.gguf", {})
    (own_home / "config.toml").write_text(f'model = "{file}"')
    assert "lora.gguf" in doctor(atomr)["model"]["detail"]


def test_an_index_without_its_parts(atomr: Atomr) -> None:
    for kind in store.KINDS:
        with publishing.resumable(kind, "mine") as scratch:
            publishing.publish(scratch, store.Manifest(kind, "mine", {"articles": 1}, []))
    assert "broken   text index mine" in atomr("doctor", status=1).out
    found = doctor(atomr)
    assert found["text index mine"]["detail"] == "passages.lance is missing"
    assert found["graph index mine"]["detail"] == "oxigraph and names.sqlite are missing"
    assert "atomr graph build" in found["graph index mine"]["advice"]


def test_a_deep_check_that_raises_is_a_finding_and_the_others_still_run(
    atomr: Atomr, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_settings: object) -> list[Finding]:
        raise ModelError("it is broken", hint="Mend it.")

    def works(_settings: object) -> list[Finding]:
        return [Finding("second", "missing", "not there", facts={"of": 3})]

    monkeypatch.setattr(doctor_command, "CHECKS", {"first": fails, "second": works})
    found = findings(atomr, "--deep")[-2:]
    assert atomr.status == 1
    assert found == [
        {"part": "first", "state": "broken", "detail": "it is broken", "advice": "Mend it."},
        {"part": "second", "state": "missing", "detail": "not there", "advice": "", "facts": {"of": 3}},
    ]
    assert "first" not in doctor(atomr)  # not without --deep


_NOT_THERE = "but the model could not be run there; the processor runs it"


@pytest.mark.parametrize(
    ("can", "wanted", "used", "told"),
    [
        (False, -1, 0, "not used: llama.cpp was built for processors"),
        (False, 20, 0, "not used: llama.cpp was built for processors"),
        (True, -1, -1, "used: all layers of the model go there"),
        (True, 20, 20, "used: 20 layers of the model go there"),
        (True, 0, 0, "not used: llama.cpp can use one, and llm.gpu_layers is 0"),
        (True, 20, 0, f"not used: llama.cpp can use one, {_NOT_THERE}"),
        (True, -1, None, f"not used: llama.cpp can use one, {_NOT_THERE}"),
    ],
)
def test_the_line_that_says_what_the_library_can_do_with_a_gpu(
    atomr: Atomr,
    monkeypatch: pytest.MonkeyPatch,
    own_home: Path,
    can: bool,
    wanted: int,
    used: int | None,
    told: str,
) -> None:
    """The whole command; the trial's child is a stand-in that found this out."""
    from atomr_local.models.catalog import find
    from atomr_local.models.llama import probe as runner
    from atomr_local.models.llama.probe import Attempt

    model = lora_adapter(own_home / "m.gguf", {})
    monkeypatch.setattr(find, "find_model", lambda _: model)
    monkeypatch.setattr(find, "find_adapter", lambda *_: None)
    facts = {"gpu": can, "system": "CPU : AVX = 1 | ", **({} if used is None else {"gpu_layers": used})}
    monkeypatch.setattr(runner, "run_probe", lambda task, way, measure: Attempt(way, "ok", "text", facts=dict(facts)))
    (own_home / "config.toml").write_text(f"llm.gpu_layers = {wanted}\n")
    found = {item["part"]: item for item in findings(atomr, "--deep")}
    assert (found["GPU"]["state"], found["GPU"]["detail"]) == ("ok", told)
    assert found["GPU"]["facts"] == {"offload": can, "wanted": wanted, "layers": used}
    assert found["library build flags"]["detail"] == "CPU : AVX = 1"


def test_it_tells_how_the_program_was_installed_and_which_extras_it_has(
    atomr: Atomr, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor_command, "installed_extras", lambda: {"starter": True, "serve": True, "zim": False})
    found = findings(atomr)
    assert {"llama-cpp-python", "settings", "starter knowledge"} <= {item["part"] for item in found}
    [own] = [item for item in found if item["part"] == "atomr-local"]
    assert own["state"] == "ok"
    assert own["detail"] == f"{__version__}, installed from {ROOT}; extras: starter, serve; not installed: zim"
    monkeypatch.setattr(doctor_command, "installed_extras", dict)
    assert "extras: none" in str(findings(atomr))
