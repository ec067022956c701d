"""Stores in object stores answer as folders do: fsspec's memory, and S3 as moto serves it."""

from __future__ import annotations

import json
import os
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fleet_made import add, facts
from tare import cli
from tare.errors import TareError
from tare.fleet import layout, remote, upkeep
from tare.fleet.adding import Origin, add_facts
from tare.fleet.quantiles import Fleet
from tare.fleet.spark import _location
from tare.fleet.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("upath")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """S3 on this machine."""
    pytest.importorskip("s3fs")
    moto = pytest.importorskip("moto.server")
    served = moto.ThreadedMotoServer(port=0, verbose=False)
    served.start()
    _, port = served.get_host_and_port()
    yield f"http://127.0.0.1:{port}"
    served.stop()


@pytest.fixture(params=["memory", "s3"])
def address(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"tare{secrets.token_hex(4)}"
    if request.param == "memory":
        return f"memory://{name}/fleet"
    monkeypatch.setenv("AWS_ENDPOINT_URL", request.getfixturevalue("server"))
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(variable, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    remote.system(remote.location(f"s3://{name}/fleet")).mkdir(name)
    return f"s3://{name}/fleet"


def fill(store: Path, numbers: range = range(12)) -> None:
    for number in numbers:
        made = facts({1: 1000.0 * (number + 1), 2: 50.0}, shown=[1], started_ns=number)
        made.rows["sites"][:] = [(1, "ab" * 20, "grow", "a.c:1", "/bin/app", "grow\nmain")]
        add(store, f"k{number}", made, f"1.{number % 2}", f"m{number}", bucket=number % 3)


def figures(store: Path) -> Any:
    fleet = Fleet(Store(store), "app")
    return fleet.builds, fleet.lenses(), fleet.sites(None)


def test_figures_are_those_of_a_folder(address: str, tmp_path: Path) -> None:
    store = remote.location(address)
    fill(store)
    fill(tmp_path / "s")
    assert figures(store) == figures(tmp_path / "s")
    before, after = upkeep.compact(store)
    assert (before, after) == (36, 7)
    assert figures(remote.location(address)) == figures(tmp_path / "s")
    assert upkeep.verify(store) == (7, [])


def test_the_verbs_take_an_address(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    fill(remote.location(address))
    assert cli.main(["fleet", "report", address, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["programs"][0]["builds"]) == 2
    assert cli.main(["fleet", "diff", address, "--before", "build=1.0", "--after", "build=1.1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tested_sites"] == 2
    assert cli.main(["fleet", "sql", address, "select count(*) as n from recordings", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"n": 12}]
    for verb in ("compact", "verify"):
        assert cli.main(["fleet", verb, address]) == 0
    assert cli.main(["fleet", "retain", address, "--builds", "1"]) == 0
    capsys.readouterr()
    assert cli.main(["fleet", "sql", address, "select distinct build from recordings", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"build": "1.1"}]


def test_a_recording_is_added_once(address: str) -> None:
    store = remote.location(address)
    layout.create(store)
    made = [("key", "/r/a.tare", facts({1: 10.0}), Origin("b", "m", {}))]
    assert add_facts(store, made) == 1
    assert add_facts(store, made) == 0
    assert len(Store(store).all_entries) == 1


def test_a_half_written_add_is_never_seen(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = remote.location(address)
    fill(store, range(3))

    def fail(*_: object, **__: object) -> bool:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(remote, "put", fail)
        with pytest.raises(TareError, match="No space left on device"):
            add_facts(store, [("new", "/r/new.tare", facts({1: 10.0}), Origin("b", "m", {}))])
    assert {entry["key"] for entry in Store(store).all_entries} == {"k0", "k1", "k2"}
    assert upkeep.verify(store)[1] == []


def test_damage_is_found(address: str) -> None:
    store = remote.location(address)
    fill(store, range(3))
    one, other, *_ = Store(store).files("site_sums")
    (store / one).write_bytes(b"PAR1")
    (store / other).unlink()
    assert {(each.file, each.reason) for each in upkeep.verify(store)[1]} == {
        (one, "has other contents than were written"),
        (other, "is missing"),
    }


def test_unnamed_files_go_after_an_hour(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = remote.location(address)
    fill(store, range(4))
    upkeep.compact(store)
    count = len(list(layout.data_files(store)))
    assert count > 9, "readers may still open superseded files"
    later = time.time() + 2 * 3600
    monkeypatch.setattr(upkeep.time, "time", lambda: later)
    upkeep.compact(store)
    assert len(list(layout.data_files(store))) == len(
        [f for t in ("site_sums", "claims", "sites") for f in Store(store).files(t)]
    )


def test_one_upkeep_at_a_time(address: str) -> None:
    store = remote.location(address)
    fill(store, range(3))
    holder = rf"process {os.getpid()} on .* maintains"
    with remote.lock(store / layout.LOCK), pytest.raises(TareError, match=holder):
        upkeep.compact(store)
    assert not (store / layout.LOCK).exists()
    old = {"host": "gone", "process": 1, "since": time.time() - 4000}
    (store / layout.LOCK).write_bytes(json.dumps(old).encode())
    upkeep.compact(store)
    assert not (store / layout.LOCK).exists()


def test_other_objects_are_no_store(address: str) -> None:
    other = remote.location(address.replace("fleet", "photos"))
    (other / "a.jpg").write_bytes(b"1")
    with pytest.raises(TareError, match="isn't a store: give an empty or a new folder"):
        layout.create(other)
    with pytest.raises(TareError, match="isn't a store: make one by tare fleet add"):
        Store(other)


def test_what_cannot_be_reached_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("s3fs")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(variable, "testing")
    assert cli.main(["fleet", "report", "s3://nowhere/fleet"]) == 4
    error = capsys.readouterr().err
    assert error.startswith("tare: fleet: can't use s3://nowhere/fleet: ") and error.count("\n") == 1
    assert cli.main(["fleet", "report", "noprotocol://x/y"]) == 2
    assert capsys.readouterr().err.startswith("tare: fleet: noprotocol://x/y")


def test_spark_reads_by_hadoops_names(tmp_path: Path) -> None:
    assert _location(remote.location("s3://b/x") / "table=a/1.parquet") == "s3a://b/x/table=a/1.parquet"
    assert _location(tmp_path / "a[1]") == f"file://{tmp_path}/a\\[1\\]"
