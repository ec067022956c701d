"""`tare variant`: shows, searches and converts values in files: GVariant, D-Bus messages, gvdb databases."""

from __future__ import annotations

import mmap
import sys
from typing import TYPE_CHECKING, Any

from tare.commands.options import add_json
from tare.errors import CORRUPT, USAGE, TareError
from tare.text.printable import say
from tare.variant import packet_capture

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

Data = bytes | mmap.mmap

SYNOPSIS = "tare variant dump|get|convert FILE [KEY ...] [--type TYPE] [--from ...] [--to ...] [-o FILE] [--json]"
HELP = (
    "Prints, searches and converts values in files. gvdb databases (dconf, gschemas.compiled) and D-Bus messages (of\n"
    "`dbus-monitor --binary` and `--pcap`) are recognized by their first bytes. Other files need --type."
)
EXAMPLES = """
tare variant dump ~/.config/dconf/user
tare variant get ~/.config/dconf/user /org/gnome/desktop/interface/clock-format
tare variant get gschemas.compiled org.gnome.desktop.interface clock-format --json
dbus-monitor --binary --session > bus.messages; tare variant dump bus.messages
dbus-monitor --pcap --system > bus.pcap; tare variant dump bus.pcap --json
tare variant dump commit.bin --type "(a{sv}aya(say)sstayay)" --from big
tare variant get state.bin 1 name --type "(sa{sv})"
tare variant convert settings.txt --from text --to little -o settings.bin
"""

_TO_GVDB = (b"GVariant", b"raVGtnai")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", choices=("dump", "get", "convert"), metavar="dump|get|convert", help="print, search or convert"
    )
    parser.add_argument("file", metavar="FILE", help="a file; -: stdin")
    parser.add_argument(
        "keys",
        nargs="*",
        metavar="KEY",
        help="get: a key, or the index of an element; several name a path to a nested value",
    )
    parser.add_argument("--type", metavar="TYPE", help="the type of the file's value, such as a{sv}")
    parser.add_argument(
        "--from", dest="source", choices=("little", "big", "text"), help="byte order, or text (default: little)"
    )
    parser.add_argument(
        "--to", dest="target", choices=("little", "big", "text"), help="convert: form of the output (default: text)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="convert: the file to write (default: stdout)")
    add_json(parser, "dump, get: print as JSON, with types")


def run(options: argparse.Namespace) -> int:
    if options.action != "get" and options.keys:
        raise TareError(USAGE, f"variant: only `get` takes keys, not `{options.action}`")
    if options.action == "get" and not options.keys:
        raise TareError(USAGE, "variant: missing KEY: `tare variant dump FILE` lists the keys")
    data = _read(options.file)
    if options.action == "convert":
        return _convert(data, options)
    if options.action == "get":
        return _get(data, options)
    return _dump(data, options)


def _read(path: str) -> Data:
    """A file is mapped: of gigabytes, only the needed parts are read."""
    if path == "-":
        return sys.stdin.buffer.read()
    with open(path, "rb") as file:
        try:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # a pipe or a device; an empty file
            return file.read()


def _is_gvdb(data: Data, options: argparse.Namespace) -> bool:
    return options.type is None and options.source is None and data[:8] in _TO_GVDB


def _is_messages(data: Data, options: argparse.Namespace) -> bool:
    return options.type is None and options.source is None and data[:1] in (b"l", b"B") and data[3:4] == b"\x01"


def _is_capture(data: Data, options: argparse.Namespace) -> bool:
    return options.type is None and options.source is None and packet_capture.is_capture(data[:4])


def _as_gvariant(data: Data, options: argparse.Namespace) -> tuple[str, Data, bool]:
    """Type, bytes, and True if they are big-endian."""
    from tare import _core

    if options.source == "text":
        try:
            text = data[:].decode()
        except UnicodeDecodeError as error:
            raise TareError(USAGE, f"{options.file}: not text: byte {error.start} isn't UTF-8") from None
        try:
            kind, value = _core.variant_parse(text, options.type or "", False)
        except TareError as error:
            error.message, *error.excerpt = error.message.split("\n")
            raise
        return kind, value, False
    if options.type is None:
        raise TareError(
            USAGE,
            f"{options.file}: neither gvdb nor D-Bus messages: give the type of its value by --type, such as a{{sv}}",
        )
    return options.type, data, options.source == "big"


def _show(value: tuple[str, str, Any], as_json: bool) -> None:
    kind, text, plain = value
    print(_json({"type": kind, "data": plain}) if as_json else text)


def _json(value: Any) -> str:
    from tare.reports.json_report import dump

    return dump(value)


def _get(data: Data, options: argparse.Namespace) -> int:
    from tare import _core

    if _is_gvdb(data, options):
        found = _core.gvdb_find(data, options.keys)
    else:
        kind, value, is_big = _as_gvariant(data, options)
        found, problem = _core.variant_find(value, kind, is_big, options.keys)
        if problem:
            raise TareError(USAGE, f"{options.file}: {problem}")
    if found is None:
        key = " ".join(options.keys)
        raise TareError(USAGE, f"{options.file}: no key {key}: `tare variant dump` lists the keys")
    _show(found, options.json)
    return 0


def _convert(data: Data, options: argparse.Namespace) -> int:
    from tare import _core

    kind, value, is_big = _as_gvariant(data, options)
    if options.target in (None, "text"):
        (_, text, _), _ = _core.variant_value(value, kind, is_big)
        result = f"{text}\n".encode()
    else:
        result = _core.variant_normal(value, kind, is_big, options.target == "big")
    if options.output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(result)
    else:
        with open(options.output, "wb") as file:
            file.write(result)
    return 0


def _dump(data: Data, options: argparse.Namespace) -> int:
    from tare import _core

    if _is_gvdb(data, options):
        items = _core.gvdb_items(data)
        if options.json:
            print(_json(_gvdb_plain(items)))
        else:
            say(_gvdb_lines(items, ""))
        return 0
    if _is_messages(data, options):
        return _dump_messages(data, options)
    if _is_capture(data, options):
        return _dump_capture(data, options)
    kind, value, is_big = _as_gvariant(data, options)
    shown, is_normal = _core.variant_value(value, kind, is_big)
    _show(shown, options.json)
    if not is_normal:
        say([f"tare: {options.file}: not in normal form: check the type {kind} and the byte order"], sys.stderr)
    return 0


def _name(key: bytes) -> str:
    return key.decode(errors="backslashreplace")


def _sorted(items: list[tuple[bytes, str, Any]]) -> list[tuple[bytes, str, Any]]:
    return sorted(items, key=lambda item: item[0])


def _gvdb_lines(items: list[tuple[bytes, str, Any]], indent: str) -> Iterator[str]:
    for key, kind, content in _sorted(items):
        if kind == "value":
            yield f"{indent}{_name(key)} = {content[1]}"
        elif kind == "table":
            yield f"{indent}{_name(key)}:"
            yield from _gvdb_lines(content, indent + "  ")
        elif kind == "broken":
            yield f"{indent}{_name(key)}: damaged"


def _gvdb_plain(items: list[tuple[bytes, str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, kind, content in _sorted(items):
        if kind == "value":
            result[_name(key)] = {"type": content[0], "data": content[2]}
        elif kind == "table":
            result[_name(key)] = _gvdb_plain(content)
        elif kind == "broken":
            result[_name(key)] = None
    return result


def _dump_messages(data: Data, options: argparse.Namespace) -> int:
    from tare import _core

    messages, good, problem = _core.dbus_messages(data)
    _show_messages(messages, options)
    # dbus-monitor's own message when its bus ends: no message of a bus, without a serial number
    if problem and b"org.freedesktop.DBus.Local" not in data[good:]:
        raise TareError(CORRUPT, f"{options.file}: {len(messages)} messages, then at byte {good}: {problem}")
    return 0


def _dump_capture(data: Data, options: argparse.Namespace) -> int:
    from tare import _core

    messages = []
    problems = []
    try:
        for packet in packet_capture.packets(data):
            found, _, problem = _core.dbus_messages(packet.bytes)
            messages += found
            if packet.lost_bytes:
                problem = f"its last {packet.lost_bytes} bytes weren't captured"
            if problem and b"org.freedesktop.DBus.Local" not in packet.bytes:
                problems.append(f"packet {packet.number}: {problem}")
    except packet_capture.CaptureError as error:
        problems.append(str(error))
    _show_messages(messages, options)
    if problems:
        more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
        raise TareError(CORRUPT, f"{options.file}: {len(messages)} messages; {problems[0]}{more}")
    return 0


def _show_messages(messages: list[dict[str, Any]], options: argparse.Namespace) -> None:
    if options.json:
        print(_json([{name: value for name, value in message.items() if name != "text"} for message in messages]))
    else:
        for message in messages:
            print(_message_line(message))


def _message_line(message: dict[str, Any]) -> str:
    ends = [message[name] for name in ("sender", "destination") if name in message]
    what = message.get("error_name") or ".".join(message[name] for name in ("interface", "member") if name in message)
    parts = [
        message["type"],
        str(message["serial"]),
        f"to {message['reply_serial']}" if "reply_serial" in message else "",
        " -> ".join(ends),
        message.get("path", ""),
        what,
        message["text"],
    ]
    return " ".join(part for part in parts if part)
