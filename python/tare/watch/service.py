"""Units of systemd: a drop-in that makes a service a watched one, and a service for its watcher."""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import suppress
from typing import NamedTuple

from tare.errors import IO, USAGE, TareError

_UNIT = re.compile(r"[A-Za-z0-9:_.@-]{1,200}\.service", re.ASCII)
_MARK = "# Written by `tare watch --install`; `tare watch --uninstall` deletes it."
_STATE = "/var/lib"
UNITS = "/etc/systemd/system"


class Facts(NamedTuple):
    """Of the service, from systemctl."""

    user: str = ""
    is_dynamic: bool = False  # DynamicUser=: systemd keeps its state below /var/lib/private
    preload: str = ""  # LD_PRELOAD of its environment


class Unit(NamedTuple):
    path: str
    text: str


def units(name: str, facts: Facts, library: str, tare: str, sample: str, options: str = "") -> list[Unit]:
    """`options`: of the watcher, in addition."""
    stem = _stem(name)
    state = f"tare/{stem}"
    folder = f"{_STATE}/{state}"
    preload = f"{library}:{facts.preload}" if facts.preload else library
    watcher = f"tare-watch-{stem}.service"
    drop_in = f"""{_MARK}
[Unit]
Wants={watcher}

[Service]
StateDirectory={state}
Environment="LD_PRELOAD={_quoted(preload)}"
Environment="TARE_WATCH={_quoted(folder)}" "TARE_SAMPLE={_quoted(sample)}"
"""
    own = f"{_STATE}/private/{state}" if facts.is_dynamic else folder
    user = f"User={facts.user}\n" if facts.user and not facts.is_dynamic else ""
    service = f"""{_MARK}
[Unit]
Description=Heap snapshots of {name} (tare watch)
After={name}

[Service]
ExecStart="{_quoted(tare)}" watch --serve "{_quoted(own)}"{options}
{user}Restart=on-failure
RestartSec=10
Nice=10
MemoryMax=256M
NoNewPrivileges=yes
PrivateTmp=yes
PrivateNetwork=yes
ProtectSystem=strict
ReadWritePaths="-{_quoted(own)}"
RestrictAddressFamilies=AF_UNIX

[Install]
WantedBy=multi-user.target
"""
    return [Unit(f"{UNITS}/{name}.d/tare-watch.conf", drop_in), Unit(f"{UNITS}/{watcher}", service)]


def facts_of(name: str) -> Facts:
    """Of a service that systemd has loaded."""
    properties = ("LoadState", "User", "DynamicUser", "Environment")
    command = ["systemctl", "show", *(f"--property={each}" for each in properties), "--", name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except FileNotFoundError:
        raise TareError(
            IO, "watch: --install needs systemctl: with another service manager, set LD_PRELOAD and TARE_WATCH"
        ) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TareError(IO, f"watch: systemctl show {name} failed: {error}") from None
    found = dict(line.partition("=")[::2] for line in done.stdout.splitlines())
    if done.returncode or found.get("LoadState") != "loaded":
        raise TareError(IO, f"watch: systemd has no service {name}: `systemctl list-units --type=service` lists them")
    return parsed(found)


def parsed(properties: dict[str, str]) -> Facts:
    preload = ""
    for word in properties.get("Environment", "").split():
        key, _, value = word.strip('"').partition("=")
        if key == "LD_PRELOAD" and "libtare-record" not in value:
            preload = value
    return Facts(properties.get("User", ""), properties.get("DynamicUser") == "yes", preload)


def install(made: list[Unit], root: str = "") -> None:
    """A unit of somebody else stays."""
    for unit in made:
        if not _is_ours(root + unit.path):
            raise TareError(IO, f"{unit.path} exists and isn't Tare's: rename it first")
    for unit in made:
        path = root + unit.path
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            temporary = f"{path}.{os.getpid()}"
            with open(temporary, "w", encoding="utf-8") as file:
                file.write(unit.text)
            os.rename(temporary, path)
        except OSError as error:
            raise TareError(IO, f"{unit.path}: {error.strerror}: run as root") from None


def uninstall(name: str, root: str = "", *, dry_run: bool = False) -> list[str]:
    """Paths of the deleted files. Recordings stay."""
    gone = []
    for unit in units(name, Facts(), "", "", ""):
        path = root + unit.path
        if not os.path.lexists(path):
            continue
        if not _is_ours(path):
            raise TareError(IO, f"{unit.path} isn't Tare's: delete it yourself")
        gone.append(unit.path)
        if dry_run:
            continue
        try:
            os.unlink(path)
        except OSError as error:
            raise TareError(IO, f"{unit.path}: {error.strerror}: run as root") from None
        if path.endswith(".conf"):
            with suppress(OSError):  # other drop-ins
                os.rmdir(os.path.dirname(path))
    return gone


def reload_systemd() -> str:
    """Why it failed; empty: it didn't."""
    try:
        done = subprocess.run(["systemctl", "daemon-reload"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stderr.strip() if done.returncode else ""


def watcher_of(name: str) -> str:
    return f"tare-watch-{_stem(name)}.service"


def _stem(name: str) -> str:
    if not _UNIT.fullmatch(name) or name.startswith((".", "-")):
        raise TareError(USAGE, f"watch: no name of a service: '{name}': give one such as redis.service")
    return name.removesuffix(".service")


def _is_ours(path: str) -> bool:
    """Also if there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().rstrip("\n") == _MARK
    except FileNotFoundError:
        return True
    except OSError as error:
        raise TareError(IO, f"{path}: {error.strerror}: run as root") from None


def _quoted(text: str) -> str:
    """Inside double quotes of a unit; % begins a specifier there, and $ a variable."""
    if any(character in text for character in '"\\\n$'):
        raise TareError(USAGE, f"watch: a unit can't hold this path or value: '{text}'")
    return text.replace("%", "%%")
