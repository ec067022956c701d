"""A terminal of a given size: tmux on a socket of its own, keys in, text out."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path


class Screen:
    """Runs one command; a context manager. `keys` counts the keys that were pressed."""

    def __init__(
        self,
        folder: Path,
        *command: str | Path,
        width: int = 80,
        height: int = 24,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._socket = folder / "tmux"
        self.keys = 0
        settings = [f"{name}={value}" for name, value in (env or {}).items()]
        # A variable of the caller's terminal would decide its colours.
        words = [
            "env",
            "-u",
            "NO_COLOR",
            "-u",
            "COLORTERM",
            "-u",
            "COLUMNS",
            "-u",
            "LINES",
            *settings,
            *map(str, command),
        ]
        line = f"{shlex.join(words)}; echo status $?; exec sleep 600"
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), line)

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), *words],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self._tmux("kill-server")

    def press(self, *keys: str) -> None:
        """Keys by tmux's names: Enter, Left, Tab, a."""
        for key in keys:
            self._tmux("send-keys", key)
            self.keys += 1

    def resize(self, width: int, height: int) -> None:
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def text(self, *, looks: bool = False) -> str:
        """What is on the screen; `looks`: with escape sequences."""
        return self._tmux("capture-pane", "-p", *(["-e"] if looks else []))

    def wait(self, condition: str | Callable[[str], object], seconds: float = 300) -> str:
        """The screen, as soon as it has a text or fulfils a condition."""
        end = time.monotonic() + seconds
        while True:
            text = self.text()
            if condition in text if isinstance(condition, str) else condition(text):
                return text
            assert time.monotonic() < end, f"not on the screen: {condition}\n{text}"
            time.sleep(0.05)
