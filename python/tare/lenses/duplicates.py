"""Duplicates: live blocks that hold the same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.lenses.change import CHANGE, Change
from tare.lenses.lens import Advice, Evidence, Lens
from tare.lenses.saving import Saving
from tare.lenses.used_snapshots import HAD, USED, scaled_from, to_peak
from tare.text.units import human_bytes, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tare.lenses.change import Language

# An AtomTable's bytes beside the characters: 29.6 bytes an atom are measured with 164,000 of 8.5 characters and a NUL
# (bench/RESULTS.md). The 4-byte handles take the places of pointers, and only make it better.
ATOM_BYTES = 20

# Each block of up to 4,096 bytes has a digest when it ends, or at the exit. So the contents of such blocks at the peak are
# known without a snapshot. Contents of larger ones come from a snapshot. An ended block shows no pointers, so that contents
# other than text count only if a snapshot has blocks of the shape and no pointers in them.
# At each snapshot, and for each contents, all blocks but one are duplicates. Their bytes less those of a table of the
# contents are claimed: of redis's strings, of which two were equal on average, 6 of 99 KiB are claimed. A shape is
# claimed once: its share of the duplicates of its contents. Unread and empty blocks are left out, and blocks with
# pointers into the heap: two nodes with the same target are seldom one value. Blocks of zeros are left out, because most
# of them aren't filled yet: the lens `unwritten` counts them. So are blocks of which most was never written: memcached has a buffer of 64
# KiB for each thread, with 24 bytes in it.
#
# Copies in the snapshot of which fewer are copies when they end were changed in place, each to other contents: of dot's records of edges, 638 of 639 were
# copies in the snapshot, and 337 when they ended. Of fourteen other programs' copies of 8 KiB and more, 94 % and more stayed copies. More copies at the
# end are no such sign: their partners may have been made after the snapshot (msgfmt). Blocks that end in a realloc have no digest.
_KNOWN_SHARE = 0.9
_SEEN_SHARE = 0.5
_SAME_SHARE = 0.8
_CLAIMS = f"""
with {USED},
{HAD},
pointers as (
  select size_id, max(start_pointers + interior_pointers) as most from pointer_words group by size_id
),
known as (
  select size_id, sum(blocks) as blocks, sum(copies) as copies from peak_contents group by size_id
),
seen as (
  select b.size_id, sum(b.blocks) as blocks, sum(b.copies) as copies
  from snapshot_sizes b join used m on m.snapshot = b.snapshot where m.kind = 'peak' group by b.size_id
),
changed as (
  select k.size_id from known k join seen s on s.size_id = k.size_id join site_sizes z on z.size_id = k.size_id
  where k.blocks >= {_KNOWN_SHARE} * z.peak_blocks and s.blocks >= {_SEEN_SHARE} * k.blocks
    and k.copies / k.blocks < {_SAME_SHARE} * s.copies / s.blocks
),
found as (
  select m.kind, b.size_id, b.stack_id, b.content_class, b.requested_bytes, b.usable_bytes + b.header_bytes as gross,
         b.copies, b.contents, 0 as is_known
  from snapshot_sizes b join used m on m.snapshot = b.snapshot left join known k on k.size_id = b.size_id
  where b.copies > 0 and (m.kind = 'exit' or k.blocks is null)
    and coalesce(b.unwritten_bytes, 0) < 0.5 * b.requested_bytes * b.blocks
  union all
  select 'peak', c.size_id, c.stack_id, c.content_class, c.requested_bytes, z.usable_bytes + z.header_bytes, c.copies, c.contents, 1
  from peak_contents c join site_sizes z on z.size_id = c.size_id left join pointers p on p.size_id = c.size_id
  where c.copies > 0 and (c.content_class = 'text' or p.most = 0) and c.size_id not in (select size_id from changed)
),
doubled as (
  select *, greatest(0, gross * copies - (gross + {ATOM_BYTES}) * contents) as bytes from found
),
shaped as (
  select size_id, min(stack_id) as stack_id,
         round(sum(case when kind = 'peak' then bytes else 0 end)) as bytes_peak,
         round(sum(case when kind = 'exit' then bytes else 0 end)) as bytes_end,
         sum(case when kind = 'peak' then copies else 0 end) as copies,
         sum(case when kind = 'peak' then contents else 0 end) as contents,
         sum(case when content_class = 'text' then bytes else 0 end) as text_bytes,
         sum(bytes) as all_bytes, max(requested_bytes) as requested_bytes,
         min(case when content_class = 'text' then requested_bytes end) as least_text_bytes, max(is_known) as is_known
  from doubled group by size_id
),
scaled as (
  select d.*, round(d.bytes_peak * case when d.is_known = 1 then {to_peak("k.blocks")} else {to_peak()} end) as at_peak,
         case when d.is_known = 1 and 1.05 * k.blocks >= z.peak_blocks then 0 else d.bytes_peak end as estimated
  from shaped d join site_sizes z on z.size_id = d.size_id left join had h on h.size_id = d.size_id
  left join known k on k.size_id = d.size_id
)
select d.size_id, d.stack_id, d.copies as blocks,
       least(d.at_peak, z.gross_peak) as bytes_peak, least(d.bytes_end, z.gross_end) as bytes_end,
       greatest(least(d.at_peak, z.gross_peak), least(d.bytes_end, z.gross_end)) as bytes_total,
       case when z.gross_peak > 0 then z.byte_ns * least(1, d.at_peak / z.gross_peak) else 0 end as byte_ns,
       z.total_blocks as calls, d.copies, d.contents, d.text_bytes, d.all_bytes, d.requested_bytes, d.bytes_peak as seen_peak,
       d.estimated, d.least_text_bytes
from scaled d
join (select size_id, (usable_bytes + header_bytes) * peak_blocks as gross_peak,
             (usable_bytes + header_bytes) * end_blocks as gross_end, total_blocks, byte_ns from site_sizes) z
  on z.size_id = d.size_id
"""


# The same for texts and other contents: most objects begin with a header, so that their texts aren't recognized.
_MANAGED: Mapping[Language, str] = {
    "Python": "Keep one object for each value: sys.intern() for str, a dict for other immutable values (known.setdefault(value, value))",
    "JavaScript": "Keep one buffer for each content in a Map, and share it or a view of it (subarray())",
    "Java": "Keep one direct buffer for each content in a map, and share views of it (asReadOnlyBuffer())",
    "Go": "Convert each value once: keep the C copies in a map, and pass these",
}
_INTERNED = Change(
    "Intern them: keep each text once in a table, and store pointers to it",
    {
        "C": "Intern them: keep each text once in a hash table, and store pointers to it",
        "C++": "Intern them: keep each text once in a std::unordered_set, and store pointers to it (AtomTable in tare/atom.h has handles of 4 bytes)",
        "Rust": "Intern them: keep each text once as Rc<str> or Arc<str> in a HashSet, and clone the pointer; if all texts are known, use &'static str or an enum",
        **_MANAGED,
    },
)
_SHARED = Change(
    "Share one immutable copy, found in a table of the existing ones",
    {
        "C": "Share one constant copy, found in a hash table of the existing ones",
        "C++": "Share one immutable copy: a std::shared_ptr<const T>, or a table of existing copies (Bytes in tare/bytes.h)",
        "Rust": "Share one immutable copy: an Rc<[T]> or Arc<[T]>, or a table of existing copies",
        **_MANAGED,
    },
)


# From so many copies of one content on, it may be the input that repeats itself: redis-benchmark stores one value under all keys (64 % of redis's
# heap), and an input of m4 gave all macros one text.
_ALIKE = 1000


def _is_alike(evidence: Evidence) -> bool:
    return bool(evidence["copies"] >= _ALIKE and round(evidence["contents"]) <= 1)


# std::string has texts of up to 15 bytes inside (libstdc++), and longer ones with a NUL in a block.
_LEAST_LONG_BYTES = 17


def _is_long_text(evidence: Evidence) -> bool:
    text = evidence["text_bytes"] >= 0.5 * evidence["all_bytes"]
    return bool(text and (evidence["least_text_bytes"] or 0) >= _LEAST_LONG_BYTES)


def _advise(evidence: Evidence) -> Advice:
    copies, contents = evidence["copies"], max(1.0, round(evidence["contents"]))
    text = evidence["text_bytes"] >= 0.5 * evidence["all_bytes"]
    what = "strings" if text else "blocks"
    seen = (
        f"{plural(copies, 'block holds', 'blocks hold')} {plural(contents, 'content', 'different contents')}"
        if copies
        else "found only at the exit"
    )
    saved = (
        f"; storing each once saves {human_bytes(evidence['bytes_peak'])} at the peak"
        + scaled_from(evidence["seen_peak"], evidence["bytes_peak"], human_bytes(evidence["seen_peak"]))
        if evidence["bytes_peak"] >= 1
        else ""
    )
    alike = _is_alike(evidence)
    typical = ". All have the same content: check that it isn't a benchmark's constant input" if alike else ""
    return Advice(
        f"{CHANGE}: {seen}{saved}{typical}. Only {what} that aren't changed in place can be shared",
        "high" if text and not alike else "medium",
        change=_INTERNED if text else _SHARED,
    )


def _saves(evidence: Evidence) -> Saving:
    if _is_alike(evidence):
        return Saving("a design", None)
    return Saving(
        "a design", evidence["bytes_peak"], exact=evidence["estimated"] == 0, long_texts=_is_long_text(evidence)
    )


LENS = Lens(
    name="duplicates",
    question="Which live blocks have equal contents?",
    why="Each copy of the same contents costs a block, a header and slop.",
    threshold="0.5 % of gross at the peak, and 4,096 bytes, because interning changes a design; for contents other than "
    "text, at least 64 surplus blocks, because a few equal ones are scratch buffers",
    false_positives="Buffers that are equal only at the time of the snapshot, and objects without pointers that are changed in "
    "place later. If fewer than 80 % of a kind's copies in the snapshot are copies at their end, none counts. "
    "Blocks with pointers into the heap and blocks of zeros aren't counted. The objects of std::string that shrink to pointers aren't counted either, so that "
    "the gain of long C++ texts is a lower bound.",
    remedy="Store each content once, and share it: interned strings, shared immutable buffers. Library: AtomTable for strings, Bytes for others.",
    weight="tare",
    sampling="unavailable",
    tables=("site_sizes", "snapshots", "snapshot_sizes", "pointer_words", "peak_contents"),
    claims=_CLAIMS,
    evidence={
        name: f"sum({name})" for name in ("copies", "contents", "text_bytes", "all_bytes", "seen_peak", "estimated")
    }
    | {"requested_bytes": "max_by(requested_bytes, all_bytes)", "least_text_bytes": "min(least_text_bytes)"},
    shown="(bytes_peak >= greatest(4096, 0.005 * $gross_peak) or bytes_end >= greatest(4096, 0.005 * $gross_end))"
    " and (copies - contents >= 64 or text_bytes >= 0.5 * all_bytes)",
    order="bytes_peak, bytes_end",
    unit="bytes",
    advise=_advise,
    saves=_saves,
    needs="snapshots",
)
