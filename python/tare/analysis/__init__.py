"""Findings and what they are made of: bytes granted to lenses, dark matter, resident memory, budgets, series."""
