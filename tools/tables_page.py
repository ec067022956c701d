"""Prints docs/tables.md: every table of a recording with its columns, from src/core/columns/schema."""

from __future__ import annotations

from tare import schema

HEAD = """# Tables

The tables of a recording, for `tare sql`, `tare export --to parquet` and lenses. `tare schema` prints the same. Counts of sampled blocks
are multiplied by their weight. Tables marked with * need another walk over the trace, at their first use.
"""


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def page() -> str:
    parts = [HEAD]
    for table in schema.TABLES:
        mark = " \\*" if table.heavy else ""
        parts.append(f"## {table.name}{mark}\n\nA row: {cell(table.row)}.")
        if table.note:
            parts.append(cell(table.note))
        rows = [f"| `{column.name}` | {column.type.lower()} | {cell(column.meaning)} |" for column in table.columns]
        parts.append("\n".join(["| column | type | meaning |", "|---|---|---|", *rows]))
    return "\n\n".join(part.strip() for part in parts) + "\n"


if __name__ == "__main__":
    print(page(), end="")
