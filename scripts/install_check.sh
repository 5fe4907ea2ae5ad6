#!/usr/bin/env bash
# Install a built wheel into an empty environment outside the checkout, as a user would, and ask a question there.
#
#   scripts/install_check.sh dist/release/atomr_local-0.1.0-py3-none-any.whl
#
# Compiles llama.cpp, unless pip has kept it: about ten minutes on two cores. PYTHON chooses the interpreter (default:
# python3); CMAKE_ARGS, when set, replaces how llama.cpp is compiled. Prints how long it took and how large it is.
set -euo pipefail

fail() {
  printf 'install check: %s\n' "$1" >&2
  exit 1
}

[ $# -eq 1 ] && [ -f "$1" ] || fail "give the file of a wheel"
wheel=$(realpath "$1")
constraints=$(realpath "$(dirname "$0")/../constraints.txt")
interpreter=${PYTHON:-python3}
command -v "$interpreter" > /dev/null || fail "$interpreter is not there: install Python 3.11 or newer, or set PYTHON"
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV
# As scripts/install.sh does: some compilers break llama.cpp's AMX code.
[ "$(uname -m)" != x86_64 ] || export CMAKE_ARGS=${CMAKE_ARGS--DCMAKE_C_FLAGS=-U__AMX_INT8__ -DCMAKE_CXX_FLAGS=-U__AMX_INT8__}
export PIP_DISABLE_PIP_VERSION_CHECK=1

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/home" "$place/elsewhere"
cd "$place/elsewhere"
export ATOMR_HOME=$place/home
bin=$place/environment/bin

begun=$SECONDS
"$interpreter" -m venv "$place/environment"
"$bin/python" -m pip install --quiet --progress-bar off -c "$constraints" "$wheel[starter]"
echo "install check: installed in $((SECONDS - begun)) s, $(du -sh "$place/environment" | cut -f1)"
"$bin/python" -m pip check
found=$("$bin/python" -c 'import atomr_local; print(atomr_local.__file__)')
[[ $found == "$place"/* ]] || fail "atomr_local is that of $found"
"$bin/atomr" --version
[ -f "$place/environment/share/man/man1/atomr.1" ] || fail "there is no manual page"

# A connection to anywhere ends the program; its environment alone has to answer.
ask='
import os, socket, sys
def refused(*_): os.write(2, b"a connection was opened\n"); os._exit(77)
socket.socket.connect = socket.socket.connect_ex = refused
from atomr_local.cli.main import main
sys.exit(main(["ask", "Who wrote Frankenstein?", "--json"]))
'
begun=$SECONDS
"$bin/python" -c "$ask" > "$place/trace.json"
"$bin/python" - "$place/trace.json" <<'CHECK' || fail "the answer is not the expected one"
import json, pathlib, sys
trace = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
print("install check:", trace["status"], trace["answers"])
sys.exit((trace["status"], trace["answers"]) != ("answered", ["Mary Shelley"]))
CHECK
echo "install check: the first question took $((SECONDS - begun)) s"
