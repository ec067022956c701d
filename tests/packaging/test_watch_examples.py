"""The examples of watched services: manifests fit together, and units are those that the command writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tare.watch import service

yaml = pytest.importorskip("yaml")

EXAMPLES = Path(__file__).resolve().parents[2] / "packaging/watch"
LIBRARY = "/usr/lib/tare/libtare-record.so"


def pod(name: str) -> Any:
    manifest = yaml.safe_load((EXAMPLES / "kubernetes" / name).read_text())
    return manifest["spec"]["template"]["spec"]


def test_the_sidecar_shares_the_folder_and_the_user() -> None:
    spec = pod("sidecar.yaml")
    server, watcher = spec["containers"]
    (folder,) = (each["value"] for each in server["env"] if each["name"] == "TARE_WATCH")
    (library,) = (each["value"] for each in server["env"] if each["name"] == "LD_PRELOAD")
    mounts = [
        {each["mountPath"]: each["name"] for each in container["volumeMounts"]} for container in (server, watcher)
    ]
    assert mounts[0][folder] == mounts[1][folder]
    assert watcher["command"][:4] == ["tare", "watch", "--serve", folder]
    assert library.rpartition("/")[0] in mounts[0] and library in spec["initContainers"][0]["command"][2]
    assert {each["name"] for each in spec["volumes"]} == set(mounts[0].values()) | set(mounts[1].values())
    assert all("medium" not in each["emptyDir"] for each in spec["volumes"])
    assert spec["securityContext"]["runAsUser"] and all(
        "runAsUser" not in each.get("securityContext", {}) for each in (server, watcher)
    )


def test_the_commands_options_exist() -> None:
    from importlib import import_module

    from tare.cli import build_parser

    parser = build_parser("watch", import_module("tare.commands.watch"))
    watcher = pod("sidecar.yaml")["containers"][1]
    options = parser.parse_args(watcher["command"][2:])
    assert options.serve == "/heap" and options.when_growth == (100 << 20, 600.0)
    patched = pod("sidecar-kills.yaml")["containers"][0]
    words = patched["command"][2].replace("exec tare watch ", "").split()
    assert parser.parse_args([*words[:7], "/x"]).cgroup == "/x"
    assert words[:6] == watcher["command"][2:8]


def test_the_units_are_those_of_the_command() -> None:
    made = service.units("redis.service", service.Facts(user="redis"), LIBRARY, "/usr/bin/tare", "512K")
    for unit in made:
        path = EXAMPLES / "systemd" / unit.path.removeprefix("/etc/systemd/system/")
        assert path.read_text() == unit.text
