"""Pools that the program registered (tare/reporter.h)."""

from __future__ import annotations

from tare.schema.table import Table, columns

TABLES = (
    Table(
        "pools",
        "a pool that the program told of (tare/reporter.h); memory_bytes - used_bytes is its slop",
        columns("""
pool_id int key, in order of making
name text what the program calls it; null: made in an earlier segment, and its memory and blocks of then are unknown
birth_ns int since the start
death_ns int since the start; null: there at the end
memory_bytes int bytes it has at the end
used_bytes int of those, handed out
blocks int handed out at the end
peak_time_ns int when it had the most memory, and of that handed out the most
peak_memory_bytes int bytes it had then
peak_used_bytes int of those, handed out
peak_blocks int handed out then
total_blocks int ever handed out
total_bytes int bytes in those
"""),
        note="Made by a walk over the whole trace, only when a statement names it.",
        heavy=True,
    ),
    Table(
        "pool_memory",
        "a piece of memory of a pool",
        columns("""
memory_id int key
pool_id int pools.pool_id
address int where it lies
bytes int its length
stack_id int stacks.stack_id of what got it
thread int number of that thread; see blocks.thread
birth_ns int since the start
death_ns int since the start; null: there at the end
heap_block_id int the block of malloc that it lies in: blocks.block_id; null: not from malloc
"""),
        note="Made by a walk over the whole trace, only when a statement names it.",
        heavy=True,
    ),
    Table(
        "pool_blocks",
        "a block that a pool handed out",
        columns("""
pool_block_id int key, in order of birth
pool_id int pools.pool_id
address int where it lay
bytes int handed out
stack_id int stacks.stack_id
thread int number of the allocating thread; those that ran one after the other may share one
birth_ns int since the start
death_ns int since the start; null: live at the end
"""),
        note="Made by a walk over the whole trace, only when a statement names it.",
        heavy=True,
    ),
)
