"""A program run natively and recorded in each mode: output, messages and the way it ends must be the same.

def test_a_program(tare: Tare, build: Build) -> None:
    assert_unharmed(tare, [build("name.c", "-static-pie"), "argument"])
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Tare

# The options of `tare run` that select each kind of recording.
MODES: Mapping[str, tuple[str, ...]] = {
    "plain": (),
    "content": ("--content",),
    "snapshots": ("--snapshots",),
    "sample": ("--sample", "64K"),
}

# Another malloc by preload: a program that changes under it too is changed by any interposition.
TCMALLOC = Path("/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4")


@dataclass(frozen=True)
class Outcome:
    """All that somebody outside sees of a program's run."""

    status: int  # as a shell has it: 128 + N when signal N ended the program
    stdout: bytes
    stderr: bytes


class TimedOutError(AssertionError):
    """The program did not end; the message shows the stack of each of its processes as the kernel sees it."""


def outcome_of(
    command: Sequence[str | Path],
    folder: Path,
    *,
    env: Mapping[str, str | None] | None = None,
    stdin: bytes = b"",
    timeout_s: float = 60,
) -> Outcome:
    """Runs a command to its end, in a session of its own so that a hang leaves no process behind. None unsets a variable."""
    environment = {**os.environ, **(env or {})}
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=folder,
        env={name: value for name, value in environment.items() if value is not None},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(stdin, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        waiting = _kernel_state(process.pid)
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        raise TimedOutError(f"no end within {timeout_s} s\n{waiting}\n{stdout!r}\n{stderr!r}") from None
    status = process.returncode
    return Outcome(status if status >= 0 else 128 - status, stdout, stderr)


def _kernel_state(session: int) -> str:
    listed = subprocess.run(
        ["ps", "-s", str(session), "-L", "-o", "pid,lwp,stat,wchan:24,args"], capture_output=True, text=True
    )
    return listed.stdout


def recorded(
    tare: Tare,
    command: Sequence[str | Path],
    mode: str,
    *,
    around: Sequence[str] = (),
    env: Mapping[str, str | None] | None = None,
    stdin: bytes = b"",
    timeout_s: float = 120,
) -> Outcome:
    """The outcome under `tare run --quiet` in this mode; the trace is MODE.tare in tare.folder."""
    launcher = [*around, tare.command, "run", "-q", "-o", f"{mode}.tare", *MODES[mode], "--"]
    return outcome_of([*launcher, *command], tare.folder, env=env, stdin=stdin, timeout_s=timeout_s)


def assert_unharmed(
    tare: Tare,
    command: Sequence[str | Path],
    *,
    modes: Iterable[str] = tuple(MODES),
    around: Sequence[str] = (),
    env: Mapping[str, str | None] | None = None,
    stdin: bytes = b"",
    timeout_s: float = 120,
    normal: Callable[[bytes], bytes] = bytes,
    notice: bytes = b"",
    may_say: bytes = b"",
) -> dict[str, Path]:
    """Compares a native run with a recorded one in each mode; returns the traces by mode.

    `normal` removes what differs between two native runs (addresses, times, pids) and is applied to both outputs.
    `notice` is text that a line of the recorder's own on stderr must contain, where one is expected; that line is
    removed before stderr is compared. Without it any line of the recorder's is a difference, but for those that contain `may_say`.
    `around` is a command that starts the launcher, and natively the program.
    """
    native = outcome_of([*around, *command], tare.folder, env=env, stdin=stdin, timeout_s=timeout_s)
    for mode in modes:
        seen = recorded(tare, command, mode, around=around, env=env, stdin=stdin, timeout_s=timeout_s)
        stderr = seen.stderr
        if notice:
            stderr = without_own(seen.stderr, notice)
            assert stderr != seen.stderr, f"{mode}: no line contains {notice!r}: {stderr!r}"
        if may_say:
            stderr = without_own(stderr, may_say)
        assert (mode, seen.status, normal(seen.stdout), normal(stderr)) == (
            mode,
            native.status,
            normal(native.stdout),
            normal(native.stderr),
        )
    return {mode: tare.folder / f"{mode}.tare" for mode in modes}


def without_own(stderr: bytes, text: bytes) -> bytes:
    """Without the recorder's lines that contain the text."""
    lines = stderr.splitlines(keepends=True)
    return b"".join(line for line in lines if not (line.startswith(b"tare") and text in line))


def sorted_lines(text: bytes) -> bytes:
    """For programs of several processes, whose order of writing differs from run to run."""
    return b"".join(sorted(text.splitlines(keepends=True)))


def assert_control_unharmed(
    tare: Tare, command: Sequence[str | Path], *, normal: Callable[[bytes], bytes] = bytes, timeout_s: float = 120
) -> None:
    """The same program with tcmalloc preloaded ends as it does natively: what differs when recorded is the recorder's."""
    native = outcome_of(command, tare.folder, timeout_s=timeout_s)
    seen = outcome_of(command, tare.folder, env={"LD_PRELOAD": str(TCMALLOC)}, timeout_s=timeout_s)
    assert (seen.status, normal(seen.stdout), normal(seen.stderr)) == (
        native.status,
        normal(native.stdout),
        normal(native.stderr),
    )
