"""`tare variant` on what dconf, GLib and a real bus wrote."""

from __future__ import annotations

import json
import shutil
import struct
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
    assert missing.returncode == 2
    assert "/org/tare/nothing" in missing.stderr


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
    assert wrong.returncode == 2
    assert "unable to find a common type:\n  [1, 'x']\n   ^  ^^^" in wrong.stderr


def test_parts_of_values_are_got_by_keys_and_numbers(tare: Tare, tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_text("(uint16 5, {'a': <(1, ['x', 'y'])>}, {uint32 7: true})\n")

    def get(*keys: str) -> str:
        result = tare("variant", "get", file, *keys, "--from", "text")
        return result.stdout.strip() or result.stderr

    assert get("0") == "uint16 5"
    assert get("1", "a") == "(1, ['x', 'y'])"
    assert get("1", "a", "1", "1") == "'y'"
    assert get("2", "uint32 7") == "true"
    assert f"{file}: a value of type (qa{{sv}}a{{ub}}) has parts 0 to 2, so no a" in get("a")
    assert f"{file}: a value of type a{{sv}} has no entry b" in get("1", "b")
    assert f"{file}: a value of type q has no parts, so no 3" in get("0", "3")


def test_bodies_of_messages_keep_all_in_json(tare: Tare, tmp_path: Path) -> None:
    # A signal whose body is a dictionary and more: its type's text is "a{ss}u", without parentheses.
    def text(value: str) -> bytes:
        return struct.pack("<I", len(value)) + value.encode() + b"\0"

    def padded(data: bytes, alignment: int) -> bytes:
        return data + b"\0" * (-len(data) % alignment)

    fields = b""
    for code, kind, value in ((1, "o", "/a"), (2, "s", "a.b"), (3, "s", "c")):
        fields = padded(fields, 8) + bytes([code, 1]) + kind.encode() + b"\0" + text(value)
    fields = padded(fields, 8) + bytes([8, 1]) + b"g\0" + bytes([6]) + b"a{ss}u\0"
    entries = padded(text("k"), 4) + text("v")
    body = padded(struct.pack("<II", len(entries), 0) + entries, 4) + struct.pack("<I", 9)
    header = b"l\4\0\1" + struct.pack("<III", len(body), 1, len(fields)) + fields
    (tmp_path / "messages").write_bytes(padded(header, 8) + body)
    (message,) = json.loads(tare("variant", "dump", tmp_path / "messages", "--json").stdout)
    assert message["body"] == [{"k": "v"}, 9]


def test_messages_of_a_real_bus_are_listed(tare: Tare, tmp_path: Path) -> None:
    talk(tmp_path, "--binary")
    shown = tare("variant", "dump", tmp_path / "captured")
    assert shown.returncode == 0
    assert any("GetNameOwner ('org.freedesktop.DBus',)" in line for line in shown.stdout.splitlines())
    messages = json.loads(tare("variant", "dump", tmp_path / "captured", "--json").stdout)
    calls = [message for message in messages if message.get("member") == "GetNameOwner"]
    assert [(call["type"], call["body"]) for call in calls] == [("method_call", ["org.freedesktop.DBus"])]


def talk(folder: Path, monitor: str) -> None:
    """Lets a client talk to a bus of its own; what `dbus-monitor` writes lies in `folder`/captured."""
    if shutil.which("dbus-run-session") is None:
        pytest.skip("no dbus-run-session: tools/bootstrap.sh test installs dbus")
    script = (
        f"dbus-monitor {monitor} > captured & sleep 1; "
        "dbus-send --session --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.GetNameOwner "
        "string:org.freedesktop.DBus; sleep 1; kill $!"
    )
    subprocess.run(["dbus-run-session", "--", "sh", "-c", script], cwd=folder, check=False, capture_output=True)


def test_packet_captures_of_a_real_bus_are_listed(tare: Tare, tmp_path: Path) -> None:
    talk(tmp_path, "--pcap")
    capture = (tmp_path / "captured").read_bytes()
    assert capture[:4] in (b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4")
    shown = tare("variant", "dump", tmp_path / "captured")
    assert shown.returncode == 0, shown.stderr
    assert any("GetNameOwner ('org.freedesktop.DBus',)" in line for line in shown.stdout.splitlines())
    messages = json.loads(tare("variant", "dump", tmp_path / "captured", "--json").stdout)
    (call,) = (message for message in messages if message.get("member") == "GetNameOwner")
    replies = [message for message in messages if message.get("reply_serial") == call["serial"]]
    assert ["org.freedesktop.DBus"] in [reply["body"] for reply in replies]


def capture_of(*packets: bytes, link_type: int = 231, lost_bytes: int = 0) -> bytes:
    """As in the format's description, big-endian."""
    parts = [b"\xa1\xb2\xc3\xd4" + struct.pack(">HHiIII", 2, 4, 0, 0, 65535, link_type)]
    parts += [struct.pack(">IIII", 0, 0, len(packet), len(packet) + lost_bytes) + packet for packet in packets]
    return b"".join(parts)


PING = b"l\1\0\1\0\0\0\0\7\0\0\0\x1d\0\0\0\1\1o\0\2\0\0\0/a\0\0\0\0\0\0\3\1s\0\4\0\0\0Ping\0\0\0\0"


def test_captures_that_are_damaged_say_where(tare: Tare, tmp_path: Path) -> None:
    file = tmp_path / "capture"

    def dump(content: bytes) -> tuple[int, str, str]:
        file.write_bytes(content)
        done = tare("variant", "dump", file)
        return done.returncode, done.stdout, done.stderr

    assert dump(capture_of(PING, PING)) == (0, "method_call 7 /a Ping ()\n" * 2, "")
    status, out, error = dump(capture_of(PING, b"l" + PING[:20], PING))
    assert (status, out) == (3, "method_call 7 /a Ping ()\n" * 2)
    assert "2 messages; packet 2: " in error
    status, out, error = dump(capture_of(PING)[:-1])
    assert status == 3
    assert f"packet 1: the capture ends after {len(PING) - 1} of its {len(PING)} bytes" in error
    assert "packet 1: its last 5 bytes weren't captured" in dump(capture_of(PING, lost_bytes=5))[2]
    assert "link type 1; D-Bus has 231" in dump(capture_of(link_type=1))[2]
    assert "the capture ends in its header" in dump(capture_of()[:10])[2]
