"""Drives Debian's Firefox by its Marionette protocol: messages of JSON with their length in front, over a local socket."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox") or ""
_PATIENCE_S = 120


class Firefox:
    """One page; the interface of tests/end_to_end/browser.py, as far as the bench needs it."""

    def __init__(self, profile: Path, *, width: int = 1200, height: int = 900) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (profile / "user.js").write_text(
            f'user_pref("marionette.port", {port});\nuser_pref("datareporting.policy.dataSubmissionEnabled", false);\n'
            'user_pref("app.update.enabled", false);\nuser_pref("privacy.reduceTimerPrecision", false);\n'
        )
        self._process = subprocess.Popen(
            [
                FIREFOX,
                "--headless",
                "--marionette",
                "--no-remote",
                "--profile",
                profile,
                "--width",
                str(width),
                "--height",
                str(height),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + _PATIENCE_S
        while True:
            try:
                self._socket = socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE_S)
                break
            except OSError:
                assert time.monotonic() < end, "Firefox doesn't listen"
                time.sleep(0.1)
        self._rest = b""
        self._number = 0
        self._read()  # its greeting
        self._call("WebDriver:NewSession", {"capabilities": {}})

    def __enter__(self) -> Firefox:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._process.kill()
        self._process.wait()

    def _read(self) -> Any:
        while b":" not in self._rest:
            self._receive()
        length, _, self._rest = self._rest.partition(b":")
        while len(self._rest) < int(length):
            self._receive()
        message, self._rest = self._rest[: int(length)], self._rest[int(length) :]
        return json.loads(message)

    def _receive(self) -> None:
        part = self._socket.recv(1 << 20)
        assert part, "Firefox ended"
        self._rest += part

    def _call(self, method: str, parameters: dict[str, Any]) -> Any:
        self._number += 1
        text = json.dumps([0, self._number, method, parameters])
        self._socket.sendall(f"{len(text.encode())}:{text}".encode())
        _, _, error, result = self._read()
        assert error is None, error
        return result

    def show(self, url: str, ready: str) -> None:
        """A page, until the condition holds."""
        self._call("WebDriver:Navigate", {"url": "about:blank"})
        self._call("WebDriver:Navigate", {"url": url})
        end = time.monotonic() + _PATIENCE_S
        while not self.evaluate(f"Boolean({ready})"):
            assert time.monotonic() < end, f"never true: {ready}"
            time.sleep(0.02)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, or of its promise. `sandbox: null` is the page's own world."""
        body = f"const done = arguments[arguments.length - 1]; Promise.resolve({expression}).then(done, (e) => done('error: ' + e));"
        found = self._call(
            "WebDriver:ExecuteAsyncScript", {"script": body, "args": [], "sandbox": None, "scriptTimeout": 120_000}
        )
        return found["value"]
