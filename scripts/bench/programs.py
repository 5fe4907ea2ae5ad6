"""What the benchmarks' programs have in common: how a report is written and how an error ends them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from atomr_lab.evaluation.runs import write_file

from atomr_local.errors import AtomrError


def publish(text: str, path: Path) -> None:
    """Print the report and write it into its file, the directory made if need be.

    Raises:
        InputError: the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, text)
    print(text, end="")


def run_program(main: Callable[[], int]) -> NoReturn:
    """Run `main` and exit with its status; an error of the program ends it with its message instead of a traceback."""
    try:
        sys.exit(main())
    except AtomrError as error:
        sys.exit(f"{error.title}: {error.message}\n{error.hint}".rstrip())
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
    except KeyboardInterrupt:
        sys.exit(130)
