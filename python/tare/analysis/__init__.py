"""Findings and their parts: bytes granted to lenses, dark matter, resident memory, budgets, series."""
