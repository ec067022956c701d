"""Executes shell commands that come over a port of the virtual machine, as JSON lines: the test's hands inside."""

from __future__ import annotations

import json
import os
import subprocess
import tty

PORT = "/dev/ttyS1"


def answer(request: dict[str, str | int]) -> dict[str, str | int]:
    try:
        done = subprocess.run(
            ["/bin/bash", "-c", str(request["command"])],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=int(request["timeout_s"]),
            cwd="/root",
            env={
                "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "HOME": "/root",
                "COLUMNS": "200",
            },
        )
    except subprocess.TimeoutExpired:
        return {"number": request["number"], "status": -1, "stdout": "", "stderr": "timeout"}
    return {"number": request["number"], "status": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


def main() -> None:
    port = os.open(PORT, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(port)
    with os.fdopen(port, "r+b", buffering=0) as lines:
        lines.write(b'{"ready": true}\n')
        pending = b""
        while True:
            pending += lines.read(65536) or b""
            while b"\n" in pending:
                line, _, pending = pending.partition(b"\n")
                try:
                    request = json.loads(line)
                except ValueError:
                    continue
                reply = json.dumps(answer(request)).encode() + b"\n"
                while reply:
                    reply = reply[lines.write(reply) or 0 :]


if __name__ == "__main__":
    main()
