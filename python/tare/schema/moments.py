"""Snapshots of live blocks, and their results."""

from __future__ import annotations

from tare.schema.table import Table, columns

TABLES = (
    Table(
        "moments",
        "a moment at which blocks were looked into; moment 0 stands for all frees, each at its own time",
        columns("""
moment int key, in the order in which they were written
kind text free, exit (or the end of an attached recording), peak (the last candidate for it) or request
name text given by who asked for it
time_ns int since the start; null: each block's own
blocks int live then; null: no single instant
gross_bytes int of them, usable bytes plus allocator headers; null: no single instant
root_bytes int memory outside the heap that was searched for pointers; null: none was
unread_bytes int of live blocks that couldn't be read
frozen_ns int that long the program stood still
cost_ns int CPU time that looking took
absent_bytes int of live blocks, on whole pages that nobody has touched, or that are swapped out; null: unknown
"""),
        note="Empty without --snapshots or --content.",
    ),
    Table(
        "moment_blocks",
        "a block that was live at a moment, and what was seen of it",
        columns("""
moment int moments.moment
address int where it lies
shape_id int site_sizes.shape_id
stack_id int where it was allocated: stacks.stack_id
requested_bytes int asked for
usable_bytes int malloc_usable_size
header_bytes int the allocator's own bytes, by its model
weight real blocks this one stands for; 1 unless sampled
digest int of the bytes asked for, 63 bits; null: it couldn't be read
content_class text zeros, text or other; null: it couldn't be read
start_pointers int words in it that hold the first address of a live block; null: unknown
interior_pointers int words in it that hold an address inside a live block; null: unknown
reachable text start: from globals, stacks, registers and TLS over pointers to starts of blocks; interior: only over such into the middle; no; suppressed: no, and known (leak:PATTERN); null: unknown
leak_root int address of the unreachable block that this one hangs on, its own if on none; null: no leak
last_write_ns int since the start: it has held the same since then, as far as moments tell; null: first seen
high_water_bytes int one more than the offset of the last byte ever written; null: unknown
"""),
        note="Empty without --snapshots or --content.",
    ),
    Table(
        "moment_shapes",
        "blocks of moment_blocks that lenses ask the same of, summed up",
        columns("""
moment int moments.moment
shape_id int site_sizes.shape_id
stack_id int where they were allocated: stacks.stack_id
requested_bytes int asked for, a block
usable_bytes int malloc_usable_size
header_bytes int the allocator's own bytes, by its model
content_class text as in moment_blocks
reachable text as in moment_blocks
last_write_ns int as in moment_blocks
leak_stack_id int where the unreachable block was allocated that they hang on; null: no leaks
blocks real how many; multiplied by their weight, as are written_blocks and unwritten_bytes
leak_roots real of those, blocks that hang on no other
copies real of those, blocks without pointers whose contents (not all zeros) another one at the moment has, too
contents real different contents of these copies: each is 1 / blocks that have it
written_blocks real blocks of which something was ever written
unwritten_bytes real of those, the bytes behind their high-water marks
"""),
        note="Empty without --snapshots or --content.",
    ),
    Table(
        "resident",
        "what a part of the process's memory was used for at a moment; the resident ones add up to its RSS",
        columns("""
moment int moments.moment
kind text heap (malloc's), stack, file, mapping (the program's own mmap), recorder, other (the loader's, the C library's)
name text a file's path; empty for the others
mapped_bytes int addresses taken
resident_bytes int in memory
touched_bytes int of those, read or written since the moment before; null: unknown
"""),
        note="Empty without --snapshots or --content.",
    ),
    Table(
        "pointer_words",
        "a kind of allocation at a moment: pointers in its blocks, and what 4-byte ones would leave of a block",
        columns("""
moment int moments.moment
shape_id int site_sizes.shape_id
stack_id int where they were allocated: stacks.stack_id
requested_bytes int asked for, a block
blocks real blocks that were looked at; multiplied by their weight, as are the three sums below
words real 8-byte words in them
start_pointers real words that hold the first address of a live block
interior_pointers real words that hold an address inside a live block
most_pointers int of both, in the block that has most
fields int pointers that a block has room for: most_pointers up to 512 bytes, else their mean
packed_bytes int what would be asked for with 4 bytes for each of those, padded, a block
packed_gross_bytes int what that would take with its header; null: no model of the allocator
"""),
        note="Empty without --snapshots or --content, and of samples.",
    ),
)
