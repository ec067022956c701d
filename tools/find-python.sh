#!/bin/sh
# Prints the Python (>= 3.10) that the virtual environment is made from; installs Debian's venv and headers where they lack.
# PYTHON=... in the environment decides instead of the search.
set -eu
here=$(dirname "$0")

fits() {
  command -v "$1" >/dev/null 2>&1 &&
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
}
# venv without ensurepip makes an environment without pip; without Python.h the extension module can't be built
complete() {
  "$1" -c '
import ensurepip, pathlib, sys, sysconfig, venv
sys.exit(not (pathlib.Path(sysconfig.get_path("include")) / "Python.h").exists())' 2>/dev/null
}

for python in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python3.10 /usr/bin/python3}; do
  if fits "$python" && complete "$python"; then
    command -v "$python"
    exit 0
  fi
done
if [ -n "${PYTHON:-}" ]; then
  echo "PYTHON=$PYTHON isn't Python 3.10 or later with venv, ensurepip and Python.h" >&2
  exit 1
fi
"$here/bootstrap.sh" python >&2
if fits /usr/bin/python3.11 && complete /usr/bin/python3.11; then
  echo /usr/bin/python3.11
  exit 0
fi
echo "No Python 3.10 or later with venv, ensurepip and Python.h: install one, or name it: make PYTHON=/path/to/python3 ..." >&2
exit 1
