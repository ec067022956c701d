"""Tare weighs a program's heap: how much of it is packaging, which line bought it, and what to do about it."""

__version__ = "0.1.0"
