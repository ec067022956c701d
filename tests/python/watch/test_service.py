"""Units of systemd: their text, and that only Tare's own files are replaced or deleted."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest
from tare.errors import TareError
from tare.watch import service
from tare.watch.service import Facts

REDIS = Facts(user="redis")


def units(facts: Facts = REDIS, name: str = "redis.service") -> list[service.Unit]:
    return service.units(name, facts, "/opt/100%/libtare-record.so", "/opt/tare", "512K")


def values(unit: service.Unit) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(unit.text)
    return parser


def test_the_drop_in_and_the_watchers_unit() -> None:
    drop_in, watcher = units()
    assert drop_in.path == "/etc/systemd/system/redis.service.d/tare-watch.conf"
    assert watcher.path == "/etc/systemd/system/tare-watch-redis.service"
    assert values(drop_in)["Unit"]["Wants"] == "tare-watch-redis.service"
    assert values(drop_in)["Service"]["StateDirectory"] == "tare/redis"
    assert 'Environment="LD_PRELOAD=/opt/100%%/libtare-record.so"\n' in drop_in.text
    assert 'Environment="TARE_WATCH=/var/lib/tare/redis" "TARE_SAMPLE=512K"\n' in drop_in.text
    assert values(watcher)["Service"]["ExecStart"] == '"/opt/tare" watch --serve "/var/lib/tare/redis"'
    assert values(watcher)["Service"]["User"] == "redis"


def test_an_own_preload_stays_and_a_dynamic_user_has_a_private_folder() -> None:
    facts = service.parsed({"DynamicUser": "yes", "User": "x", "Environment": "A=1 LD_PRELOAD=/lib/jemalloc.so B=2"})
    drop_in, watcher = units(facts)
    assert 'LD_PRELOAD=/opt/100%%/libtare-record.so:/lib/jemalloc.so"' in drop_in.text
    assert "/var/lib/private/tare/redis" in values(watcher)["Service"]["ExecStart"]
    assert "User" not in values(watcher)["Service"]
    assert service.parsed({"Environment": "LD_PRELOAD=/old/libtare-record.so"}).preload == ""


@pytest.mark.parametrize(
    "name", ["redis", "../x.service", "a b.service", "-x.service", ".service", "a\nb.service", "a\\x2db.service"]
)
def test_names_that_are_no_services(name: str) -> None:
    with pytest.raises(TareError, match="no name of a service"):
        units(name=name)


def test_installing_twice_and_uninstalling(tmp_path: Path) -> None:
    made = units()
    for _ in range(2):
        service.install(made, str(tmp_path))
    installed = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(f"/{path.relative_to(tmp_path)}" for path in installed) == sorted(unit.path for unit in made)
    assert service.uninstall("redis.service", str(tmp_path), dry_run=True) == [unit.path for unit in made]
    assert all(path.exists() for path in installed)
    assert service.uninstall("redis.service", str(tmp_path)) == [unit.path for unit in made]
    assert not (tmp_path / "etc/systemd/system/redis.service.d").exists()
    assert service.uninstall("redis.service", str(tmp_path)) == []


def test_foreign_units_stay(tmp_path: Path) -> None:
    made = units()
    foreign = tmp_path / made[1].path[1:]
    foreign.parent.mkdir(parents=True)
    foreign.write_text("[Service]\nExecStart=/bin/true\n")
    with pytest.raises(TareError, match="isn't Tare's"):
        service.install(made, str(tmp_path))
    assert not (tmp_path / made[0].path[1:]).exists()
    with pytest.raises(TareError, match="isn't Tare's"):
        service.uninstall("redis.service", str(tmp_path))
    assert foreign.read_text().endswith("ExecStart=/bin/true\n")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze isn't installed")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    executable = tmp_path / "tare"
    executable.write_text("#!/bin/sh\n")
    executable.chmod(0o755)
    _, watcher = service.units("redis.service", Facts(), "/lib/r.so", str(executable), "512K")
    path = tmp_path / "tare-watch-redis.service"
    path.write_text(watcher.text)
    done = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert str(path) not in done.stderr


def test_a_service_that_may_map_only_listed_files_gets_the_recorder_listed() -> None:
    """Debian's redis-server.service has NoExecPaths=/, by which the recorder couldn't be loaded."""
    facts = service.parsed({"User": "redis", "NoExecPaths": "/"})
    drop_in, _ = units(facts)
    assert values(drop_in)["Service"]["ExecPaths"] == '"/opt/100%%/libtare-record.so"'
    assert "ExecPaths" not in units(service.parsed({"User": "redis", "NoExecPaths": ""}))[0].text


@pytest.mark.parametrize(
    ("properties", "library", "why"),
    [
        ({"ProtectHome": "yes"}, "/home/me/tare/lib.so", "its unit hides /home"),
        ({"ProtectHome": "tmpfs"}, "/root/tare/lib.so", "its unit hides /root"),
        ({"PrivateTmp": "yes"}, "/tmp/lib.so", "its unit hides /tmp"),
        ({"DynamicUser": "yes"}, "/var/tmp/lib.so", "its unit hides /var/tmp"),
        ({"RootDirectory": "/srv/root"}, "/opt/lib.so", "has a root of its own, /srv/root"),
        ({"ProtectHome": "read-only", "PrivateTmp": "no", "RootImage": ""}, "/home/me/lib.so", ""),
        ({"ProtectHome": "yes"}, "/homes/lib.so", ""),
    ],
)
def test_a_recorder_that_the_service_doesnt_see(properties: dict[str, str], library: str, why: str) -> None:
    facts = service.parsed(properties)
    if not why:
        service.check_visible("a.service", facts, library, "/opt/tare")
        return
    with pytest.raises(TareError, match=why) as caught:
        service.check_visible("a.service", facts, library, "/opt/tare")
    assert "\n" not in caught.value.message


def test_files_that_the_services_user_cant_read(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o750)
    library = closed / "lib.so"
    library.touch(mode=0o644)
    with pytest.raises(TareError, match=f"the user of a.service can't read {library}: {closed} is closed to others"):
        service.check_visible("a.service", Facts(user="redis"), str(library), "/usr/bin/env")
    service.check_visible("a.service", Facts(), str(library), "/usr/bin/env")  # root can
