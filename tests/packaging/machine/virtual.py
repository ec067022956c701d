"""A virtual machine with systemd under qemu, and shell commands in it over a serial port."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[2]
_FIRST_LINE_S = 30
_START_S = 900  # under emulation


class Done(NamedTuple):
    status: int
    stdout: str
    stderr: str


def why_not() -> str:
    """Why no machine can be made here; empty: one can."""
    if os.geteuid() != 0:
        return "needs root: mmdebstrap makes device files"
    for tool in ("qemu-system-x86_64", "mmdebstrap", "mke2fs"):
        if shutil.which(tool) is None and not Path(f"/usr/sbin/{tool}").exists():
            return f"needs {tool}"
    return "" if os.uname().machine == "x86_64" else "the kernel of the disk is for x86-64"


def built(folder: Path, suite: str = "bookworm") -> Path:
    """The folder of the disk. TARE_MACHINE names one that is kept, so that it is made once."""
    kept = os.environ.get("TARE_MACHINE")
    where = Path(kept) if kept else folder / "machine"
    if (where / "disk.ext4").exists():
        return where
    wheels = sorted((REPO / "dist").glob("heaptare-*.whl"))
    if not wheels:
        pytest.fail("dist has no wheel: run `make wheel` first")
    build = [HERE / "build.sh", wheels[-1], where, suite]
    subprocess.run(build, check=True, env={**os.environ, "PYTHON": sys.executable})
    return where


class Machine:
    """Its disk's changes are in memory of qemu's temporary file, and go with it."""

    def __init__(self, disk: Path, work: Path) -> None:
        self._number = 0
        self.console = work / "console"
        self._port = work / "port"
        command = ["qemu-system-x86_64", "-m", "1024", "-smp", "2", "-nodefaults", "-no-reboot", "-display", "none"]
        command += ["-kernel", str(disk / "vmlinuz"), "-initrd", str(disk / "initrd.img")]
        command += ["-append", "console=ttyS0 root=/dev/vda rw panic=-1"]
        command += ["-drive", f"file={disk / 'disk.ext4'},if=virtio,format=raw,snapshot=on"]
        command += ["-serial", f"file:{self.console}", "-serial", f"unix:{self._port},server=on,wait=off"]
        self._command, self._environment = command, {**os.environ, "TMPDIR": str(work)}
        # A nested KVM may refuse the processor's registers, or hang before the kernel's first line.
        if not os.access("/dev/kvm", os.R_OK | os.W_OK) or not self._start(
            ["-enable-kvm", "-cpu", "host,arch-capabilities=off"], _FIRST_LINE_S
        ):
            assert self._start(["-accel", "tcg,thread=multi", "-cpu", "max"], _START_S), "the kernel didn't start"
        try:
            while not self._line(_START_S).get("ready"):
                pass
        except BaseException:
            self.close()
            raise

    def _start(self, accelerator: list[str], within_s: float) -> bool:
        """Whether the kernel runs and the port is open."""
        self._pending = b""
        for path in (self.console, self._port):
            path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX)
        self._qemu = subprocess.Popen(
            [*self._command, *accelerator], env=self._environment, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        end = time.monotonic() + within_s
        is_connected = False
        while self._qemu.poll() is None and time.monotonic() < end:
            if not is_connected:
                with suppress(OSError):
                    self._socket.connect(str(self._port))
                    is_connected = True
            if is_connected and b"Linux version" in self.console.read_bytes():
                return True
            time.sleep(0.1)
        self.close()
        return False

    def run(self, command: str, *, timeout_s: int = 180) -> Done:
        """A command of bash as root."""
        self._number += 1
        request = {"number": self._number, "command": command, "timeout_s": timeout_s}
        self._socket.sendall(json.dumps(request).encode() + b"\n")
        while (reply := self._line(timeout_s + 60)).get("number") != self._number:
            pass
        return Done(reply["status"], reply["stdout"], reply["stderr"])

    def ok(self, command: str, *, timeout_s: int = 180) -> str:
        """The output of a command that must succeed."""
        done = self.run(command, timeout_s=timeout_s)
        assert done.status == 0, f"{command}: {done.status}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def until(self, command: str, *, within_s: int = 120) -> str:
        """The output of a command as soon as it succeeds."""
        end = time.monotonic() + within_s
        while True:
            done = self.run(command)
            if done.status == 0:
                return done.stdout
            if time.monotonic() > end:
                pytest.fail(f"{command}: still {done.status} after {within_s} s\n{done.stdout}\n{done.stderr}")
            time.sleep(0.5)

    def close(self) -> None:
        self._socket.close()
        self._qemu.kill()
        self._qemu.wait()

    def _line(self, timeout_s: float) -> dict[str, Any]:
        end = time.monotonic() + timeout_s
        while b"\n" not in self._pending:
            left = end - time.monotonic()
            if left <= 0:
                pytest.fail(
                    f"the machine doesn't answer; its console ends with:\n{self.console.read_text(errors='replace')[-2000:]}"
                )
            self._socket.settimeout(left)
            try:
                data = self._socket.recv(65536)
            except TimeoutError:
                continue
            if not data:
                pytest.fail(
                    f"qemu has ended; the console ends with:\n{self.console.read_text(errors='replace')[-2000:]}"
                )
            self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        try:
            found = json.loads(line)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}
