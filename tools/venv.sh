#!/bin/sh
# Makes the virtual environment $1 with the packages that build and run Tare: pyproject.toml's build requirements and
# dependencies, and textual for `tare explore`. tools/requirements-dev.txt (tests and linters) is installed by the targets that need it.
set -eu
venv=$1
python=$("$(dirname "$0")/find-python.sh")
# an environment whose interpreter went away (an upgrade, a moved tree) is made anew
"$venv/bin/python" -c 'import pip' 2>/dev/null || "$python" -m venv --clear "$venv"
export PIP_DISABLE_PIP_VERSION_CHECK=1
"$venv/bin/python" - >"$venv/requirements.txt" <<'PY'
try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)
wanted = project["build-system"]["requires"] + project["project"]["dependencies"] + project["project"]["optional-dependencies"]["tui"]
print(*wanted, sep="\n")
PY
"$venv/bin/pip" install --quiet --requirement "$venv/requirements.txt"
