"""Functions of generated code that have no names, and the option of the program that would give them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tare.analysis.recording import Recording

# The options of programs, by the name of the executable.
_NODE = "--perf-basic-prof --interpreted-frames-native-stack"
_OPTIONS = {
    "node": ("JavaScript functions", f"node {_NODE}"),
    "nodejs": ("JavaScript functions", f"nodejs {_NODE}"),
    "java": (
        "Java methods",
        "java -XX:+UnlockDiagnosticVMOptions -XX:+PreserveFramePointer -XX:+DumpPerfMapAtExit (JDK 17 or later)",
    ),
}
_LEAST_SHARE = 0.01  # of the return addresses: in other programs, single ones come from trampolines


def generated_code(recording: Recording) -> list[str]:
    """A line if return addresses belong to no file and have no name, or if a known program could give names and didn't."""
    process = recording.process
    if process["imported_from"]:
        return []
    recording.database.use("locations")
    # Address 0 is the end of a stack: it made 1 of the 18 return addresses of a small C program look generated.
    rows = recording.database.rows("select location_id from locations where module_id is null and address <> 0")
    ids = [row[0] for row in rows]
    (count,) = recording.database.rows("select count(*) from locations where module_id is not null or address <> 0")[0]
    recording.names.prepare(ids)
    unnamed = sum(not recording.names.at(location_id).function for location_id in ids)
    if known := _OPTIONS.get(process["program"] or ""):
        functions, command = known
        return [f"stacks have no {functions}: run {command} for their names"] if unnamed == len(ids) else []
    if unnamed <= _LEAST_SHARE * count:
        return []
    return [
        f"{unnamed:,} of {count:,} return addresses are in generated code without names: Tare reads names from "
        "/tmp/perf-PID.map or jit-PID.dump if the program writes one of them for perf"
    ]
