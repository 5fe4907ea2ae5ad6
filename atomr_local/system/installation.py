"""How the program was installed, and the commands that add to that installation.

The right command depends on who made the environment: pipx and uv keep a list of what belongs to it, an environment of
uv has no pip of its own, a checkout has pinned versions, and an image is built, not changed.
"""

from __future__ import annotations

import platform
import re
import shlex
import sys
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

_NAME = "atomr-local"
_LLAMA = "llama-cpp-python"
_EXTRA = re.compile(r"""\bextra\s*==\s*['"]([\w.-]+)['"]""")
# As scripts/install.sh does: some compilers break llama.cpp's AMX code.
_WITHOUT_AMX = "CMAKE_ARGS='-DCMAKE_C_FLAGS=-U__AMX_INT8__ -DCMAKE_CXX_FLAGS=-U__AMX_INT8__' "

EXTRAS = ("starter", "documents", "mcp", "serve", "zim", "7z", "ray")  # those for users

Manner = Literal["image", "pipx", "uv tool", "checkout", "uv", "pip"]


@dataclass(frozen=True, slots=True)
class Installation:
    """An environment that the program runs in.

    Attributes:
        manner: what made it. `checkout` is what scripts/install.sh makes, or a run from a checkout; `uv` is a virtual
            environment of uv, and `pip` any other.
        prefix: the environment's directory.
        root: the checkout; None for other manners.
        python: the environment's interpreter.
    """

    manner: Manner
    prefix: Path
    root: Path | None = None
    python: Path = Path(sys.executable)

    def told(self) -> str:
        """The manner of installation in words."""
        words = {
            "image": "in an image", "pipx": "by pipx", "uv tool": "by uv tool", "checkout": f"from {self.root}",
            "uv": "into an environment of uv", "pip": "by pip",
        }  # fmt: skip
        return f"installed {words[self.manner]}"


def installation() -> Installation:
    """How this program was installed."""
    return find_installation(Path(sys.prefix), Path(__file__).resolve().parents[2], Path(sys.executable))


def find_installation(prefix: Path, package_root: Path, python: Path) -> Installation:
    """How an environment was made, by the files that its maker leaves there.

    Args:
        package_root: the directory that holds the package `atomr_local`.
    """
    marks: tuple[tuple[str, Manner], ...] = (
        ("atomr-image", "image"), ("pipx_metadata.json", "pipx"), ("uv-receipt.toml", "uv tool"),
    )  # fmt: skip
    for file, manner in marks:
        if (prefix / file).is_file():
            return Installation(manner, prefix, python=python)
    for root in (package_root, prefix.parent):
        if (root / "pyproject.toml").is_file() and (root / "scripts" / "install.sh").is_file():
            return Installation("checkout", prefix, root, python)
    with suppress(OSError, UnicodeDecodeError):
        if re.search(r"^uv\s*=", (prefix / "pyvenv.cfg").read_text(encoding="utf-8"), re.MULTILINE):
            return Installation("uv", prefix, python=python)
    return Installation("pip", prefix, python=python)


def add_extra(extra: str, of: Installation | None = None) -> str:
    """The command that installs an extra of the program, such as `documents`, into the environment that it runs in."""
    here = of or installation()
    if here.manner == "image":
        extras = [*_image_extras(here), extra]
        return f"podman build --build-arg EXTRAS={','.join(dict.fromkeys(extras))} --tag {_NAME} ."
    if here.manner == "pipx":
        return f"pipx inject {_environment(here)} {_quoted(_requirements(extra=extra) or [f'{_NAME}[{extra}]'])}"
    if here.manner == "uv tool" and (command := _uv_tool_command(here, extra)):
        return command
    if here.manner == "checkout":
        return _in_checkout(here, f"-m pip install -c constraints.txt {shlex.quote(f'.[{extra}]')}")
    return f"{_installer(here)} {shlex.quote(f'{_NAME}[{extra}]')}"


def add_packages(*names: str, again: bool = False, of: Installation | None = None) -> str:
    """The command that installs packages that the program requires, in versions that it takes.

    Args:
        again: they are there, and are to be replaced.
    """
    here = of or installation()
    if here.manner == "image":
        return f"podman build --no-cache --tag {_NAME} ."
    force = "--force-reinstall --no-deps " if again else ""
    if here.manner == "checkout":
        return _in_checkout(here, f"-m pip install {force}-c constraints.txt {_quoted(names)}")
    return f"{_installer(here)} {force}{_quoted(_requirements(names=names))}"


def recompile_llama(of: Installation | None = None) -> str:
    """The command that compiles llama.cpp again for this machine, without what was kept of an earlier build."""
    here = of or installation()
    if here.manner == "image":
        return f"podman build --no-cache --tag {_NAME} ."
    if here.manner == "checkout":
        remove = _in_checkout(here, f"-m pip uninstall -y {_LLAMA}")
        return f"{remove} && PIP_NO_CACHE_DIR=1 scripts/install.sh"
    # uv, which pipx may use too, takes pip's options.
    force = "--force-reinstall --no-cache-dir"
    flags = _WITHOUT_AMX if platform.machine() == "x86_64" else ""
    wanted = _quoted(_requirements(names=(_LLAMA,)))
    return f"{flags}{_installer(here)} {force} --no-deps --no-binary {_LLAMA} {wanted}"


def installed_extras() -> dict[str, bool]:
    """Of each extra that users may want, whether all that it requires is installed."""
    return {extra: all(map(_is_installed, _requirements(extra=extra))) for extra in EXTRAS}


def _is_installed(requirement: str) -> bool:
    try:
        version(_name(requirement))
    except PackageNotFoundError:
        return False
    return True


def _name(requirement: str) -> str:
    """The package that a requirement names."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def _installer(here: Installation) -> str:
    """The beginning of a command that installs packages into an environment."""
    if here.manner == "pipx":
        return f"pipx runpip {_environment(here)} install"
    if here.manner in ("uv", "uv tool"):
        return f"uv pip install --python {shlex.quote(str(here.python))}"
    return f"{shlex.quote(str(here.python))} -m pip install"


def _in_checkout(here: Installation, arguments: str) -> str:
    """A command of the environment's interpreter, run in the checkout."""
    assert here.root is not None
    inside = here.python.is_relative_to(here.root)
    python = shlex.quote(str(here.python.relative_to(here.root) if inside else here.python))
    return f"cd {shlex.quote(str(here.root))} && {python} {arguments}"


def _environment(here: Installation) -> str:
    """The name that pipx has for an environment."""
    return shlex.quote(here.prefix.name)


def _image_extras(here: Installation) -> list[str]:
    """The extras that an image was built with beyond those that it always has."""
    try:
        return re.findall(r"[\w.-]+", (here.prefix / "atomr-image").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return []


def _uv_tool_command(here: Installation, extra: str) -> str:
    """`uv tool install` as it was run before, with one more extra; "" where what uv has written cannot be read."""
    try:
        told = tomllib.loads((here.prefix / "uv-receipt.toml").read_text(encoding="utf-8"))
        given = [item for item in told["tool"]["requirements"] if isinstance(item["name"], str)]
        [own] = [item for item in given if item["name"] == _NAME]
        extras = ",".join(dict.fromkeys([*own.get("extras", ()), extra]))
        place = own.get("path") or own.get("directory") or own.get("url")
        wanted = f"{_NAME}[{extras}]" + (f" @ {place}" if place else own.get("specifier", ""))
        beside = [item["name"] + item.get("specifier", "") for item in given if item is not own]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return " ".join(["uv tool install", shlex.quote(wanted), *(f"--with {shlex.quote(name)}" for name in beside)])


def _requirements(*, extra: str = "", names: tuple[str, ...] = ()) -> list[str]:
    """Requirements of an extra, or versions of these packages; bare names where nothing says more."""
    try:
        lines = requires(_NAME) or []
    except PackageNotFoundError:
        lines = []
    if extra:
        return [line.partition(";")[0].strip() for line in lines if extra in _EXTRA.findall(line)]
    known = {_name(line): line.partition(";")[0].strip() for line in reversed(lines)}
    return [known.get(name, name) for name in names]


def _quoted(words: list[str] | tuple[str, ...]) -> str:
    return " ".join(map(shlex.quote, words))
