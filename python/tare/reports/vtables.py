"""Tables of virtual functions and type information in binaries, and the saving by relative tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.text.units import exact, human_bytes, plural
from tare.text.wrapping import wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_UNKNOWN = {
    "nothing": "no symbols are left that would name its tables",
    "exports": "stripped: only exported ones are known",
}


def lines(paths: Sequence[str], counted: Sequence[dict[str, Any] | None], columns: int) -> Iterator[str]:
    """Of binaries with such tables only."""
    for path, census in zip(paths, counted, strict=True):
        if census is None or not census["tables"]["count"]:
            continue
        tables = census["tables"]
        kinds = tables["bytes"] + census["table_tables"]["bytes"]
        information = census["type_infos"]["bytes"] + census["type_names"]["bytes"]
        inside = tables["relocations"] + census["table_tables"]["relocations"] + census["type_infos"]["relocations"]
        saving = census["relative_saving"]
        said = (
            f"{path.rpartition('/')[2]}: {plural(tables['count'], 'table')} of virtual functions, {human_bytes(kinds)}, and"
            f" {human_bytes(information)} of type information; {exact(inside)} of its {exact(census['relocations'])} relocations"
            f" ({human_bytes(census['rela_bytes'] + census['relr_bytes'])}) write into them at each start"
        )
        if saving["table_bytes"]:
            said += (
                f". Relative tables would save {human_bytes(saving['table_bytes'])} of them"
                f" and {plural(saving['relocations'], 'relocation')} ({human_bytes(saving['relocation_bytes'])})"
            )
        elif census["relative_tables"]:
            said += "; they are relative already"
        if census["names"] in _UNKNOWN:
            said += f" ({_UNKNOWN[census['names']]})"
        yield from wrap(said, columns, subsequent_indent="  ")
