"""The standard error of a sampled peak."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tare.analysis.recording import Recording


def peak_error(recording: Recording) -> float | None:
    """As a share of the peak's gross bytes; None: every block is recorded, or there are none.

    A block is recorded with a probability of 1 / weight, and then stands for `weight` blocks. The peak is the largest of many such
    estimates, so that it is more often too high than too low.
    """
    gross = recording.process["peak_gross_bytes"]
    if not recording.sampled or not gross:
        return None
    recording.database.use("site_sizes")
    (variance,) = recording.database.row(
        "select coalesce(sum(1.0 * (usable_bytes + header_bytes) * (usable_bytes + header_bytes) * peak_blocks * (weight - 1)), 0)"
        " from site_sizes"
    )
    return math.sqrt(max(0.0, variance)) / float(gross)
