#!/usr/bin/env bash
# Make requirements/*.lock anew from pyproject.toml and the versions in constraints.txt, with the hashes of every file
# that the package index offers for them. Needs `uv`, and torch's CPU build where the index or find-links offer it.
set -euo pipefail
cd "$(dirname "$0")/.."

torch=$(grep '^torch==' constraints.txt)
override=$(mktemp)
trap 'rm -f "$override"' EXIT
echo "$torch+cpu" > "$override"

lock() { # lock OUT UV-ARGUMENTS...: torch is left out, for its CPU build and its CUDA build have other hashes and needs
  local out=$1
  shift
  uv pip compile "$@" --universal --python-version 3.11 -c constraints.txt --override "$override" ${FIND_LINKS:+--find-links "$FIND_LINKS"} \
    --generate-hashes --no-header --no-annotate --no-emit-package torch --quiet --output-file "$out"
  sed -i '1i # Made by scripts/lock.sh. Do not edit.' "$out"
}

lock requirements/build.lock requirements/build.in
lock requirements/release.lock requirements/release.in
lock requirements/run.lock pyproject.toml --extra starter --extra documents --extra mcp --extra serve
lock requirements/dev.lock pyproject.toml --extra starter --extra documents --extra dev --extra docs
