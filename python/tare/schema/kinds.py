"""Kinds of allocation, over which all sums of the reports are made, and facts about them."""

from __future__ import annotations

from tare.schema.table import Table, columns

TABLES = (
    Table(
        "site_sizes",
        "one kind of allocation: same stack, entry point, sizes, alignment and weight",
        columns("""
shape_id int key
stack_id int where it was allocated: stacks.stack_id
api text entry point: malloc, realloc, operator new, ...; unknown: imported; pool block: a pool handed it out; pool memory: what a pool holds and hands out to nobody
align_bytes int alignment asked for; 0: none
requested_bytes int asked for, a block
usable_bytes int malloc_usable_size, a block
header_bytes int the allocator's own bytes a block, by its model (glibc 8, mmapped 16, others 0)
weight real blocks that one recorded block stands for; 1 unless sampled. Counts below are multiplied already
total_blocks real blocks ever allocated
peak_blocks real of them live at the peak
end_blocks real of them live at the end
at_blocks real live at the time asked for by --at; null elsewhere
inherited int 1: the parent's blocks at the fork, in peak and end only
freed_within_16 real freed before 16 more allocations happened in the process
freed_within_64 real freed after 16 to 63 more
freed_within_256 real freed after 64 to 255 more
freed_within_65536 real freed after 256 to 65,535 more
freed_later real freed after that
lifetime_ns real sum of the lifetimes of the blocks; those never freed live to the end
byte_ns real sum over the blocks of (usable + header) x lifetime
"""),
        note="The heart: every sum of the reports is a sum over this table. No byte is counted twice: where a pool's memory lies in a\n"
        "block of malloc, that block keeps what the pool didn't get. Such a rest is spread evenly over its blocks.",
    ),
    Table(
        "chains",
        "one stack that grows blocks, by realloc or by malloc, copy and free",
        columns("""
stack_id int where the growing happens
kind text realloc or malloc-copy-free
chains real blocks that grew at least once
steps real growth steps
slow_steps real of them by less than 1.2x
in_place_steps real of them that didn't move the block
copied_bytes real bytes copied by steps that moved the block
doubling_copied_bytes real bytes that growth by doubling would have copied
requested_bytes real cumulative bytes requested over all steps
rounded_4k_bytes real the same, each step rounded up to 4 KiB, steps that change nothing left out
doubling_bytes real the same had it doubled
max_requested_bytes int the largest block any chain reached
peak_blocks real chains' blocks live at the peak
"""),
    ),
    Table(
        "size_classes",
        "a size that was requested, as the model of the allocator in use serves it; empty where there is no model",
        columns("""
requested_bytes int bytes asked for
usable_bytes int what the allocator's model gives
class_below_bytes int the largest request that fits the next smaller class; 0: there is none
clownshoe int 1: just above a class, so that much of the block is slop
class text the kind of size class: small, large, huge, mmap, ...
"""),
    ),
    Table(
        "type_sites",
        "a kind of allocation whose blocks hold a type that another order of its fields would make smaller",
        columns("""
shape_id int site_sizes.shape_id
stack_id int where it was allocated: stacks.stack_id
type text its name
file text where it is declared; empty: unknown
line int line in it; null: unknown
size_bytes int of one object
reordered_bytes int of one, in the order that takes least
objects int in a block
saved_bytes int what that order leaves of a block, headers included, as the allocator in use serves it
field_order text its fields in that order
certainty text how sure it is that the blocks hold the type: high, medium, low
told_by text what says so
"""),
        note="Of kinds with a thousandth of gross at the peak or at the end, and a KiB. Needs the debug information of the program's modules,\n"
        "which is read when a statement names the table.",
        heavy=True,
    ),
    Table(
        "twins",
        "pairs of blocks, one of each of two kinds, that were allocated one after the other and freed together",
        columns("""
first_shape_id int the kind allocated first: site_sizes.shape_id
first_stack_id int its stack: stacks.stack_id
second_shape_id int the kind allocated next
second_stack_id int its stack
pairs int how many
end_pairs int of them, never freed
apart_gross_bytes int what a pair takes, headers included
joined_bytes int what one block for both would ask for
joined_gross_bytes int what that would take with its header; null: no model of the allocator
"""),
        note="Only kinds whose stacks are paired in half of the blocks of either. Made by a walk over the whole trace, only when a\nstatement names it.",
        heavy=True,
    ),
    Table(
        "mappings",
        "a stack that called mmap, mremap, brk or sbrk, and what became of its mappings",
        columns("""
stack_id int where the program mapped memory: stacks.stack_id; 0: before the recording
maps int calls
mapped_bytes int by all calls
unmapped_bytes int of those, unmapped again; not what another mapping replaced
unmapped_byte_ns real unmapped bytes times how long they were mapped
most_bytes real most that was mapped at a time
end_bytes int mapped at the end
accessible_bytes int memory without a file that was mapped when the launcher read the resident memory (process.rss_read_ns), and that the program may touch
resident_bytes int of those, in memory then
"""),
    ),
    Table(
        "call_costs",
        "a stack of whose blocks some calls were timed: one of malloc, calloc and free in some thousand is",
        columns("""
stack_id int where the blocks were allocated: stacks.stack_id
calls int allocations that were timed
ns real what the allocator took for them, waiting for its locks included
most_ns real the longest of them
free_calls int frees of such blocks that were timed, by any function
free_ns real what the allocator took for these, waiting included
most_free_ns real the longest of them
"""),
        note="Empty in samples and with --content, where no call is timed.",
    ),
)
