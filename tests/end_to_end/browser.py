"""Drives Debian's Chromium by its DevTools protocol over a pipe: what the tests of pages need, and no driver."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

CHROMIUM = shutil.which("chromium") or ""
_PATIENCE_S = 60


class Browser:
    """One page. Chromium reads commands from descriptor 3 and writes answers to 4, each ended by a zero byte."""

    def __init__(self, profile: Path, *, width: int = 1200, height: int = 900) -> None:
        self._number = 0
        self._rest = b""
        self.problems: list[str] = []  # exceptions and errors of the page
        read_commands, self._commands = os.pipe()
        self._answers, write_answers = os.pipe()
        # Both ends that Chromium takes move away from 3 and 4 first, so that dup2 overwrites neither.
        far = [os.dup(fd) for fd in (read_commands, write_answers)] if {read_commands, write_answers} & {3, 4} else []

        def place() -> None:
            source = far or [read_commands, write_answers]
            high = [os.dup(fd) for fd in source]
            while min(high) <= 4:
                high = [os.dup(fd) for fd in high]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self._process = subprocess.Popen(
            [
                CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                "--disable-extensions", "--disable-background-networking", "--hide-scrollbars", "--remote-debugging-pipe",
                f"--user-data-dir={profile}", f"--window-size={width},{height}", "about:blank",
            ],
            preexec_fn=place,
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for fd in (read_commands, write_answers, *far):
            os.close(fd)
        targets = self._call("Target.getTargets", session="")["targetInfos"]
        page = next(each for each in targets if each["type"] == "page")
        attached = self._call("Target.attachToTarget", {"targetId": page["targetId"], "flatten": True}, session="")
        self._session: str = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)

    def _call(
        self, method: str, parameters: dict[str, Any] | None = None, session: str | None = None
    ) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters or {}}
        if session is None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result
            if answer.get("method") == "Runtime.exceptionThrown":
                self.problems.append(json.dumps(answer["params"]["exceptionDetails"]))
            elif answer.get("method") == "Log.entryAdded" and answer["params"]["entry"]["level"] == "error":
                self.problems.append(answer["params"]["entry"]["text"])

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + _PATIENCE_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, end - time.monotonic()))
            assert ready, "Chromium doesn't answer"
            part = os.read(self._answers, 1 << 20)
            assert part, "Chromium ended"
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def open(self, path: Path, fragment: str = "", *, script: bool = True) -> None:
        """Until the page is ready: its script has drawn, or without scripts it is loaded."""
        self._call("Emulation.setScriptExecutionDisabled", {"value": not script})
        self._call("Page.navigate", {"url": "about:blank"})
        self._call("Page.navigate", {"url": f"file://{path}{fragment}"})
        ready = "document.readyState === 'complete' && location.protocol === 'file:'"
        self.wait(f"{ready} && Boolean(window.tare)" if script else ready)

    def show(self, url: str, ready: str) -> None:
        """A page of another tool, until the condition holds."""
        self._call("Page.navigate", {"url": url})
        self.wait(f"location.protocol === 'file:' && document.readyState === 'complete' && Boolean({ready})")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, or of its promise."""
        found = self._call("Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True})
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, condition: str) -> None:
        end = time.monotonic() + _PATIENCE_S
        while not self.evaluate(condition):
            assert time.monotonic() < end, f"never true: {condition}; {self.problems}"
            time.sleep(0.02)

    def settle(self) -> None:
        """Writes the address and the history, and makes the outline, which the page leaves until the next frame is drawn."""
        self.evaluate("tare.later.settle()")

    def back(self) -> None:
        self.settle()
        self.evaluate("history.back()")

    def count_cpu(self) -> None:
        self._call("Performance.enable", {"timeDomain": "threadTicks"})

    def cpu_ms(self) -> float:
        """CPU time of the page's thread, since count_cpu()."""
        found = {each["name"]: each["value"] for each in self._call("Performance.getMetrics")["metrics"]}
        return float(1000 * found["TaskDuration"])

    def press(self, key: str) -> None:
        """`a`, `Enter`, `ArrowDown`, `Tab`."""
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        code = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        event = {"key": key, "windowsVirtualKeyCode": code.get(key, ord(key[0].upper())), "text": text}
        self._call("Input.dispatchKeyEvent", {"type": "keyDown", **event})
        self._call("Input.dispatchKeyEvent", {"type": "keyUp", **event, "text": ""})

    def move(self, x: float, y: float, kind: str = "mouseMoved") -> None:
        button = {"button": "left", "clickCount": 1} if kind != "mouseMoved" else {}
        self._call("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **button})

    def look(self, *, width: int, height: int, dark: bool = False) -> None:
        """The size of the window, and the theme of the system."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", metrics)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", {"features": [theme]})

    def screenshot(self, to: Path, *, whole: bool = False) -> None:
        found = self._call("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": whole})
        to.write_bytes(base64.b64decode(found["data"]))
