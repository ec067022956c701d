#!/bin/sh
# Makes the virtual environment $1 and puts into it what building, running and checking the package need:
# pyproject.toml's build requirements and dependencies, and tools/requirements-dev.txt.
set -eu
venv=$1
python=$("$(dirname "$0")/find-python.sh")
# an environment whose interpreter went away (an upgrade, a moved tree) is made anew
"$venv/bin/python" -c 'import pip' 2>/dev/null || "$python" -m venv --clear "$venv"
export PIP_DISABLE_PIP_VERSION_CHECK=1
"$venv/bin/python" - >"$venv/requirements.txt" <<'PY'
import tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)
print(*project["build-system"]["requires"], *project["project"].get("dependencies", []), sep="\n")
PY
"$venv/bin/pip" install --quiet --requirement "$venv/requirements.txt" --requirement tools/requirements-dev.txt
