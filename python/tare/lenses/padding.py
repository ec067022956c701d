"""Padding: the bytes that another order of a type's fields saves in the blocks that hold it."""

from __future__ import annotations

from tare.lenses.lens import Advice, Evidence, Lens
from tare.lenses.saving import Saving
from tare.text.units import exact, human_bytes

_CLAIMS = """
select t.size_id, t.stack_id, z.peak_blocks as blocks,
       t.saved_bytes * z.peak_blocks as bytes_peak, t.saved_bytes * z.end_blocks as bytes_end,
       t.saved_bytes * z.total_blocks as bytes_total,
       z.byte_ns * t.saved_bytes / (z.usable_bytes + z.header_bytes) as byte_ns, z.total_blocks as calls,
       t.type, t.file, t.line, t.size_bytes, t.reordered_bytes, t.field_order, t.certainty, t.found_by,
       z.requested_bytes, t.saved_bytes, t.objects
from type_sites t join site_sizes z on z.size_id = t.size_id
where t.saved_bytes > 0 and t.saved_bytes <= z.usable_bytes + z.header_bytes
"""
# The type shown for a site: the one that wastes most at the peak; after a comma in thousandths, over the run.
_MOST = "bytes_peak + bytes_total / 1e6"
_SHOWN_FIELDS = 400  # characters of an order: beyond, `tare layout` shows it


def _advise(evidence: Evidence) -> Advice:
    place = evidence["file"].rpartition("/")[2] if evidence["file"] else ""
    where = f" ({place}:{exact(evidence['line'])})" if place and evidence["line"] else ""
    order = evidence["field_order"]
    if len(order) > _SHOWN_FIELDS:
        order = order[:_SHOWN_FIELDS].rpartition(", ")[0] + ", …"
    each = f"a block of {exact(evidence['requested_bytes'])} bytes"
    if evidence["objects"] > 1:
        each += f" with {exact(evidence['objects'])} of them"
    guess = {"high": "", "medium": "The type is probable. ", "low": "The type is a guess. "}[evidence["certainty"]]
    return Advice(
        f"Reorder the fields of {evidence['type']}{where} to {order}: its size falls from {exact(evidence['size_bytes'])} to "
        f"{exact(evidence['reordered_bytes'])} bytes. Saves {exact(evidence['saved_bytes'])} bytes of {each}, "
        f"{human_bytes(evidence['bytes_peak'])} at the peak. {guess}Its source: {evidence['found_by']}",
        evidence["certainty"],
    )


def _saves(evidence: Evidence) -> Saving:
    return Saving(
        "a type", evidence["bytes_peak"], exact=evidence["certainty"] == "high", faults=True, cpu_at_least=True
    )


LENS = Lens(
    name="padding",
    question="Which types shrink if their fields are reordered, and how much would their live blocks shrink?",
    why="A compiler keeps the order of fields and pads them to their alignment. With falling alignment there is no "
    "padding between fields.",
    threshold="0.5 % of gross at the peak, and 4,096 bytes, because another order affects every place that lists the "
    "fields. Only savings after the allocator's rounding count (40 and 36 bytes take the same block)",
    false_positives="Recordings don't contain the types of blocks. Template arguments of allocating functions are certain. A "
    "variable of the function that points to a type of the block's size is probable, and so is the type that the line of source names. A type that alone has the "
    "size is a guess, and is marked so. Types that files, the network, other programs or assembly rely on must "
    "keep their order, and fields that are used together should stay in one cache line. Fields that several structs of C begin with stay, "
    "because such structs are used through pointers to each other (the nodes of libxml2).",
    remedy="The printed order; TARE_ASSERT_PACKED (tare/layout.h) preserves it. Move fields that few objects use into a "
    "block of their own.",
    weight="potential",
    sampling="scaled",
    tables=("site_sizes", "type_sites"),
    claims=_CLAIMS,
    evidence={
        name: f"max_by({name}, {_MOST})"
        for name in (
            "type",
            "file",
            "line",
            "size_bytes",
            "reordered_bytes",
            "field_order",
            "certainty",
            "found_by",
            "requested_bytes",
            "saved_bytes",
            "objects",
        )
    },
    shown="bytes_peak >= greatest(4096, 0.005 * $gross_peak)",
    order="bytes_peak, bytes_end",
    unit="bytes",
    advise=_advise,
    saves=_saves,
    guide="16-padding",
)
