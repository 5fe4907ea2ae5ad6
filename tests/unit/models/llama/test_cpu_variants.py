"""The choice of llama.cpp's CPU backend, with libraries made by the C compiler where scores are needed."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from atomr_local.errors import ModelError
from atomr_local.models.llama.engine import load_variant, variants

COMPILER = shutil.which("cc")


class FakeLibrary:
    """A fake llama_cpp: says where its libraries are, and keeps what it is told to load."""

    def __init__(self, directory: Path, succeeds: bool = True) -> None:
        self.loaded: list[str] = []

        def load(path: bytes) -> int:
            self.loaded.append(Path(path.decode()).name)
            return int(succeeds)

        module: Any = SimpleNamespace(_base_path=str(directory), _lib=SimpleNamespace(ggml_backend_load=load))
        self.llama_cpp = module


def build(directory: Path, scores: dict[str, int]) -> None:
    if COMPILER is None:
        pytest.skip("no C compiler")
    for name, score in scores.items():
        source = directory / f"{name}.c"
        source.write_text(f"int ggml_backend_score(void) {{ return {score}; }}\n")
        target = directory / f"libggml-cpu-{name}.so"
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", str(target), str(source)], check=True)


def test_the_best_variant_is_loaded_and_others_can_be_named(tmp_path: Path) -> None:
    build(tmp_path, {"old": 1, "newer": 64, "newest": 0})
    (tmp_path / "libggml-cpu-damaged.so").write_bytes(b"no library")
    assert [(variant.name, variant.score) for variant in variants(tmp_path)] == [
        ("newer", 64),
        ("old", 1),
        ("newest", 0),
    ]
    api = FakeLibrary(tmp_path)
    assert load_variant(api) == "newer"
    assert load_variant(api, "old") == "old"
    assert api.loaded == ["libggml-cpu-newer.so", "libggml-cpu-old.so"]


def test_backends_of_other_devices_are_loaded_too(tmp_path: Path) -> None:
    build(tmp_path, {"only": 5})
    for name in ("libggml.so", "libggml-base.so", "libggml-vulkan.so"):
        (tmp_path / name).touch()
    api = FakeLibrary(tmp_path)
    load_variant(api)
    assert api.loaded == ["libggml-cpu-only.so", "libggml-vulkan.so"]


@pytest.mark.parametrize("wanted", ["newest", "unknown"])
def test_a_variant_that_this_processor_cannot_run_is_refused(tmp_path: Path, wanted: str) -> None:
    build(tmp_path, {"old": 1, "newest": 0})
    api = FakeLibrary(tmp_path)
    with pytest.raises(ModelError, match=f"no CPU backend '{wanted}'; it can run: old"):
        load_variant(api, wanted)
    assert api.loaded == []


def test_no_variant_for_this_processor_is_told(tmp_path: Path) -> None:
    build(tmp_path, {"newest": 0})
    with pytest.raises(ModelError, match="none of the CPU backends") as caught:
        load_variant(FakeLibrary(tmp_path))
    assert "README" in caught.value.hint


def test_a_variant_that_cannot_be_loaded_is_told(tmp_path: Path) -> None:
    build(tmp_path, {"old": 1})
    with pytest.raises(ModelError, match=r"libggml-cpu-old\.so cannot be loaded"):
        load_variant(FakeLibrary(tmp_path, succeeds=False))


def test_a_build_with_a_single_backend_needs_nothing(tmp_path: Path) -> None:
    api = FakeLibrary(tmp_path)
    assert load_variant(api) == ""
    with pytest.raises(ModelError, match="single CPU backend"):
        load_variant(api, "haswell")
    assert api.loaded == []


def test_variants_of_the_installed_library_can_be_asked_for_their_score() -> None:
    import llama_cpp

    built = variants(Path(llama_cpp.llama_cpp._base_path))
    if not built:
        pytest.skip("this build of llama.cpp has a single CPU backend")
    assert built[0].score > 0
    assert ctypes.CDLL(str(built[0].path)).ggml_backend_score() == built[0].score
