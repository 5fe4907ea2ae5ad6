#!/usr/bin/env bash
# Build what a release publishes, and check it. Publishes nothing.
#
#   scripts/release_check.sh             build and check
#   scripts/release_check.sh v0.1.0      also: this is the version of both packages, and CHANGELOG.md has a section for it
#
# OUT is the folder for the files (default: dist); it must not exist yet or be empty. The tools are those of
# requirements/release.lock, or TOOLS, a folder with programs such as .venv/bin.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  printf 'release_check: %s\n' "$1" >&2
  exit 1
}

[ $# -le 1 ] || fail "one argument at most: the version, such as v0.1.0"
out=${OUT:-dist}
if [ -e "$out" ] && [ -n "$(ls -A "$out")" ]; then fail "$out is not empty: remove it, or set OUT to another folder"; fi

version_of() { sed -n 's/^version = "\(.*\)"$/\1/p' "$1/pyproject.toml"; }

if [ $# -eq 1 ]; then
  wanted=${1#v}
  for package in . plugins/llm-atomr; do
    found=$(version_of "$package")
    [ "$found" = "$wanted" ] || fail "$package/pyproject.toml has version $found, not $wanted: change one of the two"
  done
  grep -qE "^## \[?${wanted//./\\.}\]?( |$)" CHANGELOG.md ||
    fail "CHANGELOG.md has no section for $wanted: rename Unreleased to '## $wanted - DATE'"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tools=${TOOLS:-}
if [ -z "$tools" ]; then
  echo "== tools"
  "${PYTHON:-python3}" -m venv "$work/tools"
  "$work/tools/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r requirements/release.lock
  tools=$work/tools/bin
fi

mkdir -p "$out"
echo "== build"
"$tools/python" -m build --outdir "$out" .
"$tools/python" -m build --outdir "$out" plugins/llm-atomr
echo "== metadata"
"$tools/twine" check --strict "$out"/*.whl "$out"/*.tar.gz
echo "== contents"
"$tools/check-wheel-contents" "$out"/*.whl
echo "== software bill of materials"
# Of what scripts/install.sh installs, torch aside: it has other builds on other machines (scripts/lock.sh).
"$tools/cyclonedx-py" requirements requirements/run.lock --pyproject pyproject.toml --output-reproducible \
  --output-format JSON --output-file "$out/atomr-local.cdx.json"
echo "== checksums"
(cd "$out" && sha256sum -- *.whl *.tar.gz *.cdx.json > SHA256SUMS && cat SHA256SUMS)
