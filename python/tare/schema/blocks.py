"""Blocks, each from allocation to free, and the contents of ended ones."""

from __future__ import annotations

from tare.schema.table import Table, columns

TABLES = (
    Table(
        "blocks",
        "one block, from birth to death",
        columns("""
block_id int key, in order of birth
thread int number of the allocating thread; those that ran one after the other may share one
birth_ns int since the start
death_ns int since the start; null: live at the end
alloc_stack_id int stacks.stack_id
free_stack_id int stacks.stack_id of the free; null: not recorded (--free-stacks) or not freed
requested_bytes int asked for
usable_bytes int malloc_usable_size
align_bytes int alignment asked for; 0: none
api text entry point
grown_from int block_id that realloc grew into this one; null: none
weight real blocks this one stands for; 1 unless sampled
inherited int 1: existed before a fork made this process
address int where it lay
"""),
        note="Made by a walk over the whole trace, only when a statement names it.",
        heavy=True,
    ),
    Table(
        "lives",
        "blocks of one kind and thread that were allocated in one interval of time and freed in one",
        columns("""
shape_id int their kind: site_sizes.shape_id, but for pools
stack_id int where they were allocated: stacks.stack_id
thread int number of the allocating thread
birth_interval int intervals.interval of the allocation; null: existed before the recording
death_interval int intervals.interval of the free; null: live at the end
requested_bytes int asked for, a block
usable_bytes int malloc_usable_size, a block
header_bytes int the allocator's own bytes a block, as in site_sizes
blocks real how many; of a sample, what they stand for
"""),
        note="Live at the end of interval N: birth_interval is null or <= N, and death_interval is null or > N. Pools aren't told apart from\n"
        "malloc's blocks. Made by a walk over the whole trace, only when a statement names it.",
        heavy=True,
    ),
    Table(
        "intervals",
        "an interval of time of `lives`: 200 equal parts of the run, one of them split at the peak",
        columns("""
interval int key, ascending
end_ns int its end, since the start; the interval includes it, with all events of that time stamp
"""),
        note="Made with `lives`.",
        heavy=True,
    ),
    Table(
        "thread_sizes",
        "blocks of one kind that one thread allocated",
        columns("""
shape_id int their kind: site_sizes.shape_id, but for pools
stack_id int where they were allocated: stacks.stack_id
thread int number of that thread, as in blocks; null: inherited, so that it isn't known
total_blocks real allocated over the run
peak_blocks real live at the peak
end_blocks real live at the end
at_blocks real live at the requested time; null: none was requested
"""),
        note="Pools aren't told apart from malloc's blocks. Made by a walk over the whole trace, only when a statement names it.",
        heavy=True,
    ),
    Table(
        "observations",
        "what was seen of a block at its free (moment 0) and at each moment that it lived at, so that two moments can be"
        " compared by block_id; with --content, blocks without a row at their free were written to their end",
        columns("""
moment int moments.moment
block_id int blocks.block_id
stack_id int where it was allocated: stacks.stack_id
requested_bytes int asked for
usable_bytes int malloc_usable_size
high_water_bytes int one more than the offset of the last byte written; null: unknown
digest int at a free of the bytes written, 56 bits, only where the same was freed before; at other moments of the bytes asked for, 63 bits, as in moment_blocks. The two aren't comparable; null: unknown
content_class text text, zeros, other or none (nothing was written); null: unknown
start_pointers int words that hold the first address of a live block; null: not looked
interior_pointers int words that point into a live block; null: not looked
reachable text start, interior or no, as in moment_blocks but for suppressions; null: not looked
last_write_ns int since the start: it has held the same since then, as far as moments tell; null: unknown
"""),
        note="Empty without --content or moments. Made by a walk over the whole trace, only when a statement names it.",
        heavy=True,
    ),
    Table(
        "written",
        "a shape of site_sizes of which blocks were seen not written to their end, at their free or while they lived",
        columns("""
shape_id int site_sizes.shape_id
stack_id int where it was allocated: stacks.stack_id
requested_bytes int asked for, a block
ended_blocks real blocks that ended; those not in partly_blocks were written to their end
partly_blocks real of them, those with bytes at their end that were never written
max_high_water_bytes int the greatest high-water mark among all that ended
unwritten_peak_bytes real never written to the end, of blocks live at the peak that ended later
unwritten_total_bytes real never written, of all that ended
unwritten_pages real whole pages among those, of blocks of a page and more
narrow_blocks real of partly_blocks, those not written beyond 60 % of the request
within_0 real blocks whose mark was 0: nothing was written
within_16 real 1 to 16 bytes
within_32 real 17 to 32
within_48 real 33 to 48
within_64 real 49 to 64
within_128 real 65 to 128
within_256 real 129 to 256
within_512 real 257 to 512
within_1024 real 513 to 1,024
within_2048 real 1,025 to 2,048
within_4096 real 2,049 to 4,096
within_more real more than that, partly or all
site_blocks real blocks of the whole site (stacks cut to some frames) that ended
site_narrow_blocks real of them, those not written beyond 60 % of the smallest request; marks of larger ones are known by the steps above
site_high_water_bytes int the greatest mark among them
site_requested_bytes int the smallest request among them
"""),
        note="Empty without --content.",
    ),
    Table(
        "peak_contents",
        "contents of blocks of up to 4,096 bytes that were live at the peak, as they were when the block was freed, or at"
        " the exit if it never was",
        columns("""
shape_id int site_sizes.shape_id
stack_id int where it was allocated: stacks.stack_id
requested_bytes int asked for, a block
content_class text as in recreated
blocks real how many of the shape's blocks at the peak were looked at
copies real of those, blocks whose contents another one at the peak has, too; blocks of zeros have none
contents real different contents of these copies: each is 1 / blocks that have it
"""),
        note="Empty without --content. Blocks that ended in a realloc aren't in it.",
    ),
    Table(
        "recreated",
        "contents that were freed before at the same stack, and were made there and freed once more",
        columns("""
stack_id int where the blocks were allocated: stacks.stack_id
digest int of the bytes written
requested_bytes int the largest such block
content_class text text, zeros, other
times real blocks freed with these contents after the first
near_times real of them, those made while one of the stack's last 8 different contents was the same
bytes real requested by all of them
contents real 1; where a summary adds up the contents of a line, how many there are (the columns above but for sums are of the commonest)
most_times real times, of the commonest
most_requested_bytes int the largest block of all of them
"""),
        note="Empty without --content.",
    ),
)
