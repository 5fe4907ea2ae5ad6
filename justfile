# Shortcuts for developers. `just` lists them; CONTRIBUTING.md explains them.

python := ".venv/bin/python"

default:
    @just --list

# Install the program and the development tools into .venv.
setup:
    scripts/install.sh --dev

# Run the program, such as `just run ask "Who wrote Frankenstein?"`.
run *arguments:
    {{python}} -m atomr_local {{arguments}}

# Run the tests, such as `just test tests/unit/tree`.
test *arguments:
    {{python}} -m pytest {{arguments}}

# Run all tests, on all cores.
test-all:
    {{python}} -m pytest -n logical

# Run the tests that are not marked as slow, on all cores.
test-fast:
    {{python}} -m pytest -n logical -m "not slow"

# Report which branches of the package the fast tests run.
coverage:
    {{python}} -m pytest -n logical -m "not slow" --cov --cov-report=term

# Check style, types and import contracts.
lint:
    .venv/bin/ruff check .
    .venv/bin/ruff format --check .
    .venv/bin/mypy
    .venv/bin/lint-imports
    .venv/bin/python scripts/house/budget.py

# Correct style where ruff can.
fix:
    .venv/bin/ruff check --fix .
    .venv/bin/ruff format .

# Write the generated reference pages again.
reference:
    {{python}} scripts/make_reference.py

# Build the documentation site into site/.
docs:
    .venv/bin/mkdocs build --strict

# Write requirements/*.lock again; needs uv.
lock:
    scripts/lock.sh

# Run everything that CI runs.
ci:
    .ci/run
