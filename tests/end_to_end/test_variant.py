"""`tare variant` on what dconf, GLib and a real bus wrote."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Tare

KEYS = """
[org/tare/example]
name='tare'
sizes=[1, 2, 3]

[org/tare/example/deep]
flags={'a': <true>, 'b': <uint32 7>}
"""
SCHEMA = """<schemalist><schema id="org.tare.example" path="/org/tare/example/">
<key name="size" type="u"><default>7</default></key></schema></schemalist>"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    if shutil.which("dconf") is None:
        pytest.skip("no dconf: tools/bootstrap.sh test installs dconf-cli")
    folder = tmp_path / "keys"
    folder.mkdir()
    (folder / "all").write_text(KEYS)
    subprocess.run(["dconf", "compile", tmp_path / "db", folder], check=True)
    return tmp_path / "db"


def test_a_dconf_database_is_listed_and_searched(tare: Tare, database: Path) -> None:
    assert tare("variant", "dump", database).stdout.splitlines() == [
        "/org/tare/example/deep/flags = {'a': <true>, 'b': <uint32 7>}",
        "/org/tare/example/name = 'tare'",
        "/org/tare/example/sizes = [1, 2, 3]",
    ]
    found = tare("variant", "get", database, "/org/tare/example/deep/flags", "--json")
    assert json.loads(found.stdout) == {
        "type": "a{sv}",
        "data": {"a": {"type": "b", "data": True}, "b": {"type": "u", "data": 7}},
    }
    missing = tare("variant", "get", database, "/org/tare/nothing")
    assert missing.returncode == 125
    assert "no value has the key /org/tare/nothing" in missing.stderr


def test_compiled_schemas_are_tables_of_tables(tare: Tare, tmp_path: Path) -> None:
    if shutil.which("glib-compile-schemas") is None:
        pytest.skip("no glib-compile-schemas: tools/bootstrap.sh test installs libglib2.0-dev")
    (tmp_path / "org.tare.gschema.xml").write_text(SCHEMA)
    subprocess.run(["glib-compile-schemas", tmp_path], check=True)
    found = tare("variant", "get", tmp_path / "gschemas.compiled", "org.tare.example", "size")
    assert found.stdout == "(uint32 7,)\n"


def test_text_becomes_bytes_and_text_again(tare: Tare, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("{'a': <1>, 'b': <[byte 1, 2]>}\n")
    out = tmp_path / "bytes"
    assert tare("variant", "convert", tmp_path / "text", "--from", "text", "--to", "big", "-o", out).returncode == 0
    assert out.read_bytes()[8:12] == b"\0\0\0\1"
    back = tare("variant", "convert", out, "--type", "a{sv}", "--from", "big")
    assert back.stdout == "{'a': <1>, 'b': <[byte 0x01, 0x02]>}\n"
    (tmp_path / "wrong").write_text("[1, 'x']")
    wrong = tare("variant", "convert", tmp_path / "wrong", "--from", "text")
    assert wrong.returncode == 125
    assert "unable to find a common type:\n  [1, 'x']\n   ^  ^^^" in wrong.stderr


def test_messages_of_a_real_bus_are_listed(tare: Tare, tmp_path: Path) -> None:
    if shutil.which("dbus-run-session") is None:
        pytest.skip("no dbus-run-session: tools/bootstrap.sh test installs dbus")
    script = (
        "dbus-monitor --binary > messages & sleep 1; "
        "dbus-send --session --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.GetNameOwner "
        "string:org.freedesktop.DBus; sleep 1; kill $!"
    )
    subprocess.run(["dbus-run-session", "--", "sh", "-c", script], cwd=tmp_path, check=False, capture_output=True)
    shown = tare("variant", "dump", tmp_path / "messages")
    assert shown.returncode == 0
    assert any("GetNameOwner ('org.freedesktop.DBus',)" in line for line in shown.stdout.splitlines())
    messages = json.loads(tare("variant", "dump", tmp_path / "messages", "--json").stdout)
    calls = [message for message in messages if message.get("member") == "GetNameOwner"]
    assert [(call["type"], call["body"]) for call in calls] == [("method_call", ["org.freedesktop.DBus"])]
