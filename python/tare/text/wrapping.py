"""Text broken into lines between words; paths and options with hyphens stay whole where they fit."""

from __future__ import annotations

import textwrap


def wrap(text: str, width: int, initial_indent: str = "", subsequent_indent: str = "") -> list[str]:
    """Lines of at most `width` characters; none for an empty text."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=initial_indent,
        subsequent_indent=subsequent_indent,
        break_on_hyphens=False,  # libstdc++-12.so and --min-bytes would be broken
    )
