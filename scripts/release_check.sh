#!/usr/bin/env bash
# Build the packages of a release from a commit, check them, and write beside them what goes with them.
#
#   scripts/release_check.sh                     the commit that is checked out, before it has a tag
#   scripts/release_check.sh --tag v0.1.0        for this tag: version and changelog must agree with it
#   scripts/release_check.sh --out FOLDER        where to; default: dist/release. It must not hold anything yet
#
# PYTHON chooses the interpreter (default: python3). The tools are installed into build/release-tools, at the versions and
# hashes of requirements/release.lock; nothing of the program's environment is used.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  printf 'release: %s\n' "$1" >&2
  exit 1
}

tag="" out=dist/release
while [ $# -gt 0 ]; do
  case "$1" in
    --tag | --out)
      [ $# -ge 2 ] || fail "$1 needs a value"
      if [ "$1" = --tag ]; then tag=$2; else out=$2; fi
      shift 2
      ;;
    *) fail "unknown option $1; there are --tag and --out" ;;
  esac
done

interpreter=${PYTHON:-python3}
command -v "$interpreter" > /dev/null || fail "$interpreter is not there: install Python 3.11 or newer, or set PYTHON"
"$interpreter" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "Python 3.11 or newer is needed; set PYTHON to one"
[ ! -e "$out" ] || { [ -d "$out" ] && [ -z "$(ls -A "$out")" ]; } || fail "$out is there already: remove it, or choose another with --out"
unset PYTHONPATH

# Before anything is built.
"$interpreter" scripts/release_facts.py check ${tag:+"$tag"}
[ -n "$tag" ] || echo "release: no tag is given: the changelog is not checked for a heading"
commit=$(git rev-parse --verify --quiet 'HEAD^{commit}') || fail "this is no commit of a git repository"
if [ -n "$tag" ] && tagged=$(git rev-parse --verify --quiet "refs/tags/$tag^{commit}"); then
  [ "$tagged" = "$commit" ] || fail "the tag $tag is another commit than the one that is checked out"
fi
[ -z "$(git status --porcelain)" ] || echo "release: the working tree has changes; they are left out, the commit is built"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "release: tools"
tools=build/release-tools
if ! cmp -s requirements/release.lock "$tools/release.lock"; then
  rm -rf "$tools"
  "$interpreter" -m venv "$tools"
  "$tools/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/release.lock
  cp requirements/release.lock "$tools/release.lock"
fi
tools=$PWD/$tools/bin

# From the commit alone, so that no file that only lies around gets in; times are the commit's, so that the same commit gives
# the same files.
echo "release: packages of commit $commit"
export SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git show --no-patch --format=%ct "$commit")
mkdir "$work/source" "$work/out"
git archive "$commit" | tar -x -C "$work/source"
for package in . plugins/llm-atomr; do
  "$tools/python" -m build --outdir "$work/out" "$work/source/$package" > "$work/build.log" 2>&1 || {
    cat "$work/build.log" >&2
    fail "$package could not be built"
  }
done

echo "release: checks"
"$tools/twine" --no-color check --strict "$work"/out/*.whl "$work"/out/*.tar.gz
"$tools/check-wheel-contents" "$work"/out/*.whl

# What a release is tested with. torch stands in the constraints alone: see scripts/lock.sh.
echo "release: bill of materials"
version=$("$tools/python" -c 'import sys, tomllib; print(tomllib.load(open(sys.argv[1], "rb"))["project"]["version"])' pyproject.toml)
bill="$work/out/atomr_local-$version.cdx.json"
{ cat "$work/source/requirements/run.lock"; grep '^torch==' "$work/source/constraints.txt"; } > "$work/packages.txt"
"$tools/cyclonedx-py" requirements "$work/packages.txt" --pyproject "$work/source/pyproject.toml" --mc-type application \
  --sv 1.6 --output-reproducible --validate --output-file "$bill" 2> "$work/bill.log" || {
  cat "$work/bill.log" >&2
  fail "the bill of materials could not be made"
}

[ -z "$tag" ] || "$interpreter" scripts/release_facts.py notes "$tag" > "$work/out/NOTES.md"
(cd "$work/out" && sha256sum -- *.whl *.tar.gz *.cdx.json > SHA256SUMS && sha256sum --check --quiet SHA256SUMS)

mkdir -p "$out"
cp "$work"/out/* "$out"
echo "release: $out"
(cd "$out" && cat SHA256SUMS)
