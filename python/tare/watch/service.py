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
_SANDBOX = ("NoExecPaths", "ProtectHome", "PrivateTmp", "RootDirectory", "RootImage")
_HOMES = ("/home", "/root", "/run/user")
_TEMPORARY = ("/tmp", "/var/tmp")


class Facts(NamedTuple):
    """Of the service, from systemctl."""

    user: str = ""
    is_dynamic: bool = False  # DynamicUser=: systemd keeps its state below /var/lib/private
    preload: str = ""  # LD_PRELOAD of its environment
    maps_only_listed: bool = False  # NoExecPaths=, as Debian's redis-server has it: code elsewhere needs ExecPaths=
    hidden: tuple[str, ...] = ()  # folders that the service doesn't see, by ProtectHome= and PrivateTmp=
    root: str = ""  # RootDirectory= or RootImage=


class Unit(NamedTuple):
    path: str
    text: str


def units(
    name: str, facts: Facts, library: str, tare: str, sample: str, options: str = "", budget: str = ""
) -> list[Unit]:
    """`options`: of the watcher, in addition. `budget`: as the recorder reads it."""
    stem = _stem(name)
    state = f"tare/{stem}"
    folder = f"{_STATE}/{state}"
    preload = f"{library}:{facts.preload}" if facts.preload else library
    watcher = f"tare-watch-{stem}.service"
    listed = f'ExecPaths="{_quoted(library)}"\n' if facts.maps_only_listed else ""
    limits = f' "TARE_BUDGET={_quoted(budget)}"' if budget else ""
    drop_in = f"""{_MARK}
[Unit]
Wants={watcher}

[Service]
StateDirectory={state}
Environment="LD_PRELOAD={_quoted(preload)}"
Environment="TARE_WATCH={_quoted(folder)}" "TARE_SAMPLE={_quoted(sample)}"{limits}
{listed}"""
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
RestrictNamespaces=yes
RestrictRealtime=yes
LockPersonality=yes
ProtectControlGroups=yes
ProtectKernelTunables=yes
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target
"""
    return [Unit(f"{UNITS}/{name}.d/tare-watch.conf", drop_in), Unit(f"{UNITS}/{watcher}", service)]


def facts_of(name: str) -> Facts:
    """Of a service that systemd has loaded."""
    properties = ("LoadState", "User", "DynamicUser", "Environment", *_SANDBOX)
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
    dynamic = properties.get("DynamicUser") == "yes"
    hidden = list[str]()
    if properties.get("ProtectHome") in ("yes", "tmpfs"):
        hidden += _HOMES
    if dynamic or properties.get("PrivateTmp") == "yes":  # DynamicUser= implies it
        hidden += _TEMPORARY
    root = properties.get("RootDirectory") or properties.get("RootImage") or ""
    return Facts(properties.get("User", ""), dynamic, preload, bool(properties.get("NoExecPaths")), tuple(hidden), root)


def check_visible(name: str, facts: Facts, library: str, tare: str) -> None:
    """A recorder that the service can't load would only be a line of ld.so in the service's log."""
    if facts.root:
        raise TareError(
            IO,
            f"watch: {name} has a root of its own, {facts.root}: set LD_PRELOAD and TARE_WATCH to paths in it yourself",
        )
    for folder in facts.hidden:
        if library.startswith(f"{folder}/"):
            raise TareError(
                IO,
                f"watch: {name} doesn't see {library}: its unit hides {folder}: install Tare in another folder, such as /opt/tare",
            )
    if facts.user in ("", "root") and not facts.is_dynamic:
        return
    for path in (library, tare):
        if closed := _closed_to_others(path):
            raise TareError(
                IO,
                f"watch: the user of {name} can't read {path}: {closed} is closed to others: install Tare in another folder, such as /opt/tare",
            )


def _closed_to_others(path: str) -> str:
    """The file or the folder above it that others can't read or enter; empty: none."""
    each = os.path.realpath(path)
    try:
        if not os.stat(each).st_mode & 0o004:
            return each
        while (each := os.path.dirname(each)) != "/":
            if not os.stat(each).st_mode & 0o001:
                return each
    except OSError:  # found when the service starts
        pass
    return ""


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
