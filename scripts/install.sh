#!/usr/bin/env bash
# Install atomr-local and what it needs into .venv, at the versions and hashes of requirements/*.lock.
#
#   scripts/install.sh              the program with its starter model
#   scripts/install.sh --dev        also what the tests and checks need
#   scripts/install.sh --portable   llama.cpp for all processors instead of this one: for images, and for installations that are moved
#
# PYTHON chooses the interpreter (default: python3). CMAKE_ARGS, when set, replaces how llama.cpp is compiled.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  printf 'install: %s\n' "$1" >&2
  exit 1
}

lock=requirements/run.lock portable=""
for option in "$@"; do
  case "$option" in
    --dev) lock=requirements/dev.lock ;;
    --portable) portable=yes ;;
    *) fail "unknown option $option; the options are --dev and --portable" ;;
  esac
done

interpreter=${PYTHON:-python3}
compiler=${CXX:-c++}
command -v "$interpreter" > /dev/null || fail "$interpreter is not there: install Python 3.11 or newer, or set PYTHON"
"$interpreter" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "Python 3.11 or newer is needed; set PYTHON to one"
command -v "$compiler" > /dev/null || fail "a C++ compiler is needed to build llama.cpp: install g++ or clang, or set CXX"

# Whether the C++ compiler knows these processor options.
knows() { "$compiler" "$@" -x c++ -fsyntax-only /dev/null 2> /dev/null; }

# For this processor alone; or, with --portable, one CPU backend for each generation of processors, chosen when the program starts
# (atomr_local/models/llama/engine.py): most of the time of compiling goes there. A compiler that is too old for the newest of them
# builds for this machine.
# Without AMX: GCC 11 and 12 drop stores that llama.cpp's AMX code needs, and it crashes (llama.cpp issue 20824).
llama_arguments() {
  local variants="-DGGML_NATIVE=OFF -DGGML_BACKEND_DL=ON -DGGML_CPU_ALL_VARIANTS=ON" chosen="" flags=""
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64)
      flags="-U__AMX_INT8__"
      if [ -n "$portable" ] && knows -mavxvnni -mavx512bf16 -mamx-int8; then chosen=$variants; fi
      ;;
    Linux-aarch64)
      if [ -n "$portable" ] && knows -march=armv9.2-a+dotprod+fp16+sve+i8mm+sve2+sme; then chosen=$variants; fi
      ;;
  esac
  echo "-DLLAVA_BUILD=OFF -DCMAKE_INSTALL_BINDIR=llama_cpp/lib -DCMAKE_INSTALL_LIBDIR=llama_cpp/lib" \
    "-DCMAKE_INSTALL_INCLUDEDIR=llama_cpp/include $chosen ${flags:+-DCMAKE_C_FLAGS=$flags -DCMAKE_CXX_FLAGS=$flags}"
}

given=${CMAKE_ARGS:-}
export CMAKE_ARGS=${CMAKE_ARGS:-$(llama_arguments)}
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
export PIP_DISABLE_PIP_VERSION_CHECK=1

[ -x .venv/bin/python ] || "$interpreter" -m venv .venv
pip() { .venv/bin/python -m pip "$@"; }

# Whether llama.cpp is what was asked for: pip may have kept a build for another processor, or one that was made with other arguments.
built_as_asked() {
  case "$CMAKE_ARGS" in
    *GGML_CPU_ALL_VARIANTS=ON*) compgen -G '.venv/lib/python3*/site-packages/llama_cpp/lib/libggml-cpu-*.so' > /dev/null ;;
    *) [ -n "$given" ] || .venv/bin/python scripts/llama_fits.py ;;
  esac
}

echo "install: packages (llama.cpp is compiled unless pip has kept it: a few minutes on two cores, about ten with --portable)"
pip install --quiet --no-deps --require-hashes -r requirements/build.lock
locked() { PATH=$PWD/.venv/bin:$PATH pip install --no-deps --require-hashes --no-build-isolation "$@"; }
locked --progress-bar off -r "$lock"
# torch has no hash here: its CPU build and its CUDA build differ, and package indexes serve one or the other.
pip install --quiet -c constraints.txt torch
pip install --quiet --no-deps --no-build-isolation --force-reinstall . $([ ! -d scripts/lab ] || echo ./scripts/lab)
if ! built_as_asked; then
  echo "install: pip kept a llama-cpp-python that was built for another machine or in another way; building it again"
  pip cache remove 'llama_cpp_python*' > /dev/null || true
  locked --force-reinstall -r <(awk '/^[a-z]/ {wanted = /^llama-cpp-python==/} wanted' "$lock")
fi
# They only compiled llama.cpp, and are 77 MB.
pip uninstall --quiet --yes cmake ninja
echo "install: ready; the program is .venv/bin/atomr"
