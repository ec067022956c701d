"""Facts and recordings of one watched file: the only module that calls the core's reader."""

from __future__ import annotations

import re
from typing import NamedTuple

from tare.errors import CORRUPT, TareError

_FILE_NAME = re.compile(r"\w[\w.+-]*", re.ASCII)


class Facts(NamedTuple):
    """Of one process, as its file has them."""

    process_id: int
    process_start_ticks: int
    boot_id: str
    executable: str
    began_ns: int  # since 1970
    updated_ns: int
    sample_bytes: int
    live_bytes: float
    live_bytes_error: float  # one standard error
    live_samples: int
    allocated_bytes: float
    allocated_blocks: float
    freed_bytes: float
    freed_blocks: float
    ended: bool
    stopped: str
    budget_cpu_share: float = 0.0  # 0: no such limit
    budget_memory_bytes: int = 0
    budget_disk_bytes: int = 0
    recorder_ns: int = 0  # CPU time of the recorder, and of the process with it; 0: no budget
    process_ns: int = 0
    first_sample_bytes: int = 0
    rests: bool = False  # a launcher records the process exactly
    command: str = ""  # the first word of the command line

    @property
    def program(self) -> str:
        """As it was called: Debian's redis-server is a link to redis-check-rdb."""
        called = self.command.rpartition("/")[2]
        return called if _FILE_NAME.fullmatch(called) else self.executable.rpartition("/")[2]

    @property
    def image(self) -> str:
        """Distinguishes programs that had the same number one after the other."""
        return f"{self.process_id}-{_base36(max(self.began_ns, 0) // 1_000_000)}"


def facts_of(path: str, shown: str) -> Facts:
    """`shown`: the name for messages, where `path` is a descriptor's."""
    from tare import _core

    try:
        found = _core.watch_facts(path)
        facts = {name: _converter(name)(found[name]) for name in Facts._fields if name != "command"}
        return Facts(**facts, command=str(next(iter(found["command_line"]), "")))
    except TareError as error:
        raise _renamed(error, path, shown) from None
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise TareError(CORRUPT, f"{shown}: facts of the process are damaged: {error}") from None


def write_trace(path: str, out: str, shown: str) -> None:
    from tare import _core

    try:
        _core.watch_to_trace(path, out)
    except TareError as error:
        raise _renamed(error, path, shown) from None


_FLOATS = {
    "budget_cpu_share",
    "live_bytes",
    "live_bytes_error",
    "allocated_bytes",
    "allocated_blocks",
    "freed_bytes",
    "freed_blocks",
}
_FLAGS = {"ended", "rests"}
_TEXTS = {"boot_id", "executable", "stopped"}


def _converter(name: str) -> type:
    return float if name in _FLOATS else str if name in _TEXTS else bool if name in _FLAGS else int


def _renamed(error: TareError, path: str, shown: str) -> TareError:
    return TareError(error.kind, error.message.replace(path, shown))


def _base36(number: int) -> str:
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits
