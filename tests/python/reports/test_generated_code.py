"""The note about return addresses without a file: only of generated code."""

from __future__ import annotations

from handmade import Handmade
from tare.reports.generated_code import generated_code


def test_the_end_of_a_stack_isnt_generated_code(made: Handmade) -> None:
    made.blocks(made.stack("?", "main"), 16, 24, total=1)
    address = made.tables["locations"][-1]
    address.update(module_id=None, address=0)
    assert generated_code(made.recording()) == []
    address.update(address=4096)
    (note,) = generated_code(made.recording())
    assert note.startswith("1 of 2 return addresses")
