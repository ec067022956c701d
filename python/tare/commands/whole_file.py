"""A file that a verb writes: it appears under its name when all of it is written."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from tare.errors import IO as IO_ERROR
from tare.errors import TareError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def whole_file(path: str, verb: str) -> Iterator[IO[bytes]]:
    """A file of the same name stays as it was unless all of the new one is written."""
    part = f"{path}.part-{os.getpid()}"
    try:
        with open(part, "wb") as out:
            yield out
        os.replace(part, path)
    except OSError as error:
        raise TareError(IO_ERROR, f"{verb}: can't write {path}: {error.strerror}") from None
    finally:
        if os.path.exists(part):
            os.unlink(part)
