"""Facts of a watched file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from machine import read_facts

if TYPE_CHECKING:
    from machine import Machine


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("redis-server", "redis-server"),
        ("/usr/bin/redis-server", "redis-server"),
        ("", "redis-check-rdb"),
        ("-bash", "redis-check-rdb"),
        ("nginx: master process", "redis-check-rdb"),
    ],
)
def test_a_program_is_named_as_it_was_called(machine: Machine, command: str, program: str) -> None:
    path = str(machine.write(1))
    made = read_facts(path, path)._replace(executable="/usr/bin/redis-check-rdb", command=command)
    assert made.program == program
