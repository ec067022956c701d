"""The program's own reports about its blocks (tare/reporter.h)."""

from __future__ import annotations

from tare.schema.table import Table, columns

TABLES = (
    Table(
        "reports",
        "a report of the program (tare/reporter.h): this block belongs to that path",
        columns("""
path text what it was reported as
block_id int blocks.block_id; null: of a pool, or no live block begins there
pool_block_id int pool_blocks.pool_block_id; null: not of a pool
address int what was reported
requested_bytes int bytes asked for; null: no block
usable_bytes int malloc_usable_size, or what the pool handed out; null: no block
weight real blocks this one stands for; 1 unless sampled
time_ns int since the start
thread int number of the reporting thread; see blocks.thread
stack_id int stacks.stack_id of who reported; null: not recorded
round int tare_clear_reports() calls before
on_alloc int 1: by tare_report_on_alloc, stands through rounds
nth int this was the block's nth report of those that stood then; above 1: reported twice
standing int 1: holds at the end: in the last round or on_alloc, and the block is live
"""),
        note="Made by a walk over the whole trace, only when a statement names it. Where standing = 1 and nth = 1, each block\n"
        "counts once; live blocks without such a row are unreported.",
        heavy=True,
    ),
    Table(
        "claimed",
        "blocks of one kind that were live at the end, by which reports stood for them",
        columns("""
stack_id int where they were allocated: stacks.stack_id
kind text malloc, pool block, or pool memory: what a pool holds beside its blocks
requested_bytes int asked for, a block
usable_bytes int what it takes, a block; of a block that a pool's memory lies in what the pool didn't get
header_bytes int the allocator's own bytes, a block
weight real blocks that one recorded block stands for; 1 unless sampled. `blocks` is multiplied already
blocks real how many there are
reports int how many reports stand for each: 0 is dark matter, 2 and more a bug
path text the first such report's; null: none stands
report_stack_id int who reported it: stacks.stack_id
path_again text the second report's
again_stack_id int who reported it
formerly text where none stands: what an earlier round reported it as
"""),
        note="Made by a walk over the whole trace, only when a statement names it. `tare report --mode dark-matter` shows other moments.",
        heavy=True,
    ),
    Table(
        "amounts",
        "what the program believed that the blocks under a path take (tare_report_amount), beside what they do",
        columns("""
path text as it was said; the blocks are those reported under it or below; null: its name was lost
time_ns int since the start
round int of reports: each tare_clear_reports() begins one
believed_bytes int by the program's own books
blocks int of malloc that were reported there by then, each once
requested_bytes int asked for, all of them
usable_bytes int what they take
"""),
        note="Made by a walk over the whole trace, only when a statement names it.",
        heavy=True,
    ),
    Table(
        "holders",
        "blocks of one stack and size whose holders the program counts (tare_tell_holders)",
        columns("""
shape_id int stack and sizes: site_sizes.shape_id
stack_id int where they were allocated: stacks.stack_id
requested_bytes int asked for, a block
weight real blocks that one recorded block stands for; 1 unless sampled. All counts are multiplied already
blocks real over the whole run
shared_blocks real of them, those that had a second holder at some time
end_blocks real live at the end
end_shared_blocks real of them, those that had a second holder at some time
"""),
        note="Made by a walk over the whole trace, only when a statement names it. tare::Bytes tells where TARE_TELL_SHARING=1 is set.",
        heavy=True,
    ),
)
