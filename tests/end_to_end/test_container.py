"""The image of the Containerfile, built and run as docs/how-to/containers.md says, where a container engine works."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from support.places import ROOT


def engine() -> str | None:
    """The first engine that works here."""
    for name in ("podman", "docker"):
        if shutil.which(name) is not None:
            command = [name, "info"]
            done = subprocess.run(command, capture_output=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
            if done.returncode == 0:
                return name
    return None


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_image_keeps_its_promises() -> None:
    """It compiles llama.cpp, which takes about ten minutes."""
    found = engine()
    if found is None:
        pytest.skip("neither podman nor docker works here: the image is not built, the Containerfile is only checked")
    command = ["scripts/container_check.sh"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3500, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "mcp and serve answer" in done.stdout
