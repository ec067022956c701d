"""The manifests of a watched pod against the schemas of Kubernetes' interface, which a package from PyPI has."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")

pytestmark = pytest.mark.nightly

MANIFESTS = Path(__file__).resolve().parents[2] / "packaging/watch/kubernetes"


def merged(base: Any, patch: Any) -> Any:
    """A strategic merge: lists of objects are merged by name."""
    if isinstance(base, dict) and isinstance(patch, dict):
        return {**base, **{key: merged(base.get(key), value) for key, value in patch.items()}}
    if isinstance(base, list) and isinstance(patch, list) and all(isinstance(each, dict) for each in base + patch):
        named = {each["name"]: each for each in base}
        for each in patch:
            named[each["name"]] = merged(named.get(each["name"]), each)
        return list(named.values())
    return patch


@pytest.fixture(scope="module")
def validator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the schemas of the last versions, 108 MB: too much for the environment of all tests."""
    folder = tmp_path_factory.mktemp("validator")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin/pip", "install", "--quiet", "kubernetes-validate>=1.33"], check=True)
    return folder / "bin/kubernetes-validate"


def checked(validator: Path, file: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([validator, "--strict", file], capture_output=True, text=True)


def test_the_manifest_and_its_patch_follow_the_schemas(validator: Path, tmp_path: Path) -> None:
    manifest = MANIFESTS / "sidecar.yaml"
    done = checked(validator, manifest)
    assert done.returncode == 0, done.stdout + done.stderr
    patched = merged(
        yaml.safe_load(manifest.read_text()), yaml.safe_load((MANIFESTS / "sidecar-kills.yaml").read_text())
    )
    assert len(patched["spec"]["template"]["spec"]["containers"]) == 2
    file = tmp_path / "patched.yaml"
    file.write_text(json.dumps(patched))
    done = checked(validator, file)
    assert done.returncode == 0, done.stdout + done.stderr
    patched["spec"]["template"]["spec"]["containers"][0]["volumeMount"] = []  # a misspelt field
    file.write_text(json.dumps(patched))
    assert checked(validator, file).returncode != 0
