"""The traces of a group of processes: of a folder, or of one recording with the processes that its program started."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from tare.errors import IO, NOT_A_TRACE, TareError

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAGIC = b"TARETRC\n"  # src/trace/file/FORMAT.md
_SHORT = ".short"
_PROCESS = r"\.[0-9]+(\.[0-9]+)?(\.e[0-9]+)?"  # the second process of a number is PID.2
_OF_A_PROCESS = re.compile(_PROCESS)
_NAMED_AS_TRACE = re.compile(rf".*\.tare({_PROCESS}|\.short)?", re.DOTALL)


class GroupFiles(NamedTuple):
    paths: list[str]  # a trace each; F.short:PID is one in a container
    warnings: list[str]  # files that can't be read, a line each


def of_folder(folder: str) -> GroupFiles:
    """Files that aren't traces are left out; those with the name of one get a warning."""
    found = _found(folder, _names(folder))
    if not found.paths and not found.warnings:
        raise TareError(
            NOT_A_TRACE,
            f"no recording is in {folder}; record into it: tare run -o {os.path.join(folder, 'app.tare')} …",
        )
    return found


def of_recording(path: str) -> GroupFiles:
    """F, F.PID, F.PID.eN and the members of F.short. `path` may be any of these."""
    base = base_of(path)
    folder, name = os.path.split(base)
    others = [each for each in _names(folder or ".") if each.startswith(name) and _is_of(each[len(name) :])]
    found = _found(folder, others)
    if not found.paths and not found.warnings:
        if os.path.exists(path):
            raise TareError(NOT_A_TRACE, f"{path} isn't a trace; --group needs one, or a folder of traces")
        raise TareError(IO, f"can't open {path}: No such file or directory; check the path")
    return found


def base_of(path: str) -> str:
    """F, of the name of any of its processes' traces."""
    container, is_member, _ = path.partition(f"{_SHORT}:")
    if is_member or path.endswith(_SHORT):
        return container.removesuffix(_SHORT)
    shorter = re.sub(f"{_PROCESS}$", "", path)
    return shorter if os.path.exists(shorter) else path


def has_others(path: str) -> bool:
    """Whether the recording of the process at `path` has further processes."""
    base = base_of(path)
    if os.path.exists(base + _SHORT):
        return True
    folder, name = os.path.split(base)
    try:
        entries = os.listdir(folder or ".")
    except OSError:
        return False
    return any(entry.startswith(name) and _OF_A_PROCESS.fullmatch(entry[len(name) :]) for entry in entries)


def _is_of(rest: str) -> bool:
    return rest in ("", _SHORT) or _OF_A_PROCESS.fullmatch(rest) is not None


def _names(folder: str) -> list[str]:
    """Without older segments: the latest has their sums."""
    try:
        names = set(os.listdir(folder))
    except OSError as error:
        raise TareError(IO, f"can't read the folder {folder}: {error.strerror}") from None
    return sorted(name for name in names if not _is_older_segment(name, names))


def _is_older_segment(name: str, names: set[str]) -> bool:
    match = re.search(r"\.s[1-9][0-9]*$", name)
    return match is not None and name[: match.start()] in names


def _found(folder: str, names: Iterable[str]) -> GroupFiles:
    from tare import _core

    found = GroupFiles([], [])
    for name in names:
        path = os.path.join(folder, name)
        if not os.path.isfile(path):
            continue
        try:
            members = _core.list_members(path)
        except TareError as error:
            found.warnings.append(error.message)
            continue
        if members is not None:
            found.paths.extend(member.path for member in members.members)
            found.warnings.extend(members.warnings)
        elif _begins_as_trace(path):
            found.paths.append(path)
        elif _NAMED_AS_TRACE.fullmatch(name):
            found.warnings.append(f"{path} isn't a trace: it is left out")
    return found


def _begins_as_trace(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False
