"""Every table and column there is to ask, with its meaning: the one list behind `tare schema`, loading and its tests."""

from __future__ import annotations

from typing import NamedTuple

INT = "BIGINT"
REAL = "DOUBLE"
TEXT = "VARCHAR"


class Column(NamedTuple):
    name: str
    type: str
    meaning: str


class Table(NamedTuple):
    name: str
    row: str  # what one row is
    columns: tuple[Column, ...]
    note: str = ""
    heavy: bool = False  # made by a walk over the whole trace when first named

    def ddl(self) -> str:
        return f"create table {self.name} ({', '.join(f'{c.name} {c.type}' for c in self.columns)})"


def _columns(text: str) -> tuple[Column, ...]:
    """One column a line: name, type, meaning."""
    columns = []
    for line in text.strip().splitlines():
        name, kind, meaning = line.split(None, 2)
        columns.append(Column(name, {"int": INT, "real": REAL, "text": TEXT}[kind], meaning))
    return tuple(columns)


_MOMENT_TOTALS = "\n".join(
    f"""{moment}_blocks {kind} blocks {words}
{moment}_requested_bytes {kind} bytes asked of malloc, {words}
{moment}_usable_bytes {kind} malloc_usable_size, {words}
{moment}_gross_bytes {kind} usable bytes plus allocator headers, {words}"""
    for moment, kind, words in (
        ("peak", "int", "live at the peak"),
        ("end", "int", "live at the end of the recording"),
        ("total", "int", "over all that were allocated (inherited ones not counted)"),
        ("at", "int", "live at the time asked for by --at; null elsewhere"),
    )
)

TABLES: tuple[Table, ...] = (
    Table(
        "process",
        "the recorded process image; there is exactly one",
        _columns(f"""
program text base name of the executable
exe text the executable's path
pid int process id
parent_pid int process id of the parent
image_index int counts the images that exec put into this process, from 0
command_line text arguments, separated by spaces, quoted as a shell needs
cwd text working directory at the start
host text name of the machine
kernel text release of the kernel
allocator text glibc, jemalloc, mimalloc, tcmalloc, musl or unknown: who served malloc
allocator_path text the file that malloc came from
page_bytes int size of a page
start_realtime_ns int start of the recording, nanoseconds since 1970 (UTC)
duration_ns int from the start to the last event
complete int 1: ended in order; 0: killed, ended by _exit or exec, or still running
replaced_by_exec int 1: another program took the process over by exec; it has a trace of its own
launcher_died int 1: tare run was killed, and what the program did after its buffers were full isn't recorded
wait_status int as waitpid gives it; null where nobody waited
peak_rss_bytes int greatest resident set; null where unknown
spool_bytes int of it, what the recorder wrote its events to; null where unknown
sample_bytes int mean bytes between samples; 0: every allocation is recorded
asleep_ns int that long the recorder slept (tare run --start-paused, tare pause), all in all; null: never
contents_recorded int 1: blocks were filled when allocated, and looked at when they ended (tare run --content)
events int successful calls: allocations, frees and reallocs
alloc_events int allocations without reallocs
free_events int frees without reallocs
realloc_events int reallocs that changed a block: each ends one and starts one
map_events int changes of mappings (mmap, munmap, mremap, brk)
impossible_events int events that contradict each other; anything but 0 is a bug in Tare
dropped_events int events lost because the disk or the launcher was too slow
unmatched_after_drops int events that fit nothing because what they refer to was dropped
pre_existing_frees int frees of blocks older than the recording, or born while the recorder slept
truncated_stacks int stacks deeper than what is kept
unwind_failures int stacks that end before the outermost frame
nested_events int events from a signal handler inside an allocation
moments int times that live blocks were looked into: rows of moments
threads int threads seen
inherited_blocks int blocks inherited through fork
inherited_usable_bytes int usable bytes of those
peak_time_ns int when the peak was, since the start
{_MOMENT_TOTALS}
mapped_peak_bytes int greatest total of mmap and brk
mapped_end_bytes int mapped at the end
"""),
    ),
    Table(
        "site_sizes",
        "one kind of allocation: same stack, entry point, sizes, alignment and weight",
        _columns("""
shape_id int key
stack_id int where it was allocated: stacks.stack_id
api text entry point: malloc, realloc, operator new, ...; pool block: a pool handed it out; pool memory: what a pool holds and hands out to nobody
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
        _columns("""
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
        "timeline",
        "an interval of the run (at most 1,024 rows)",
        _columns("""
time_ns int end of the interval, since the start
requested_bytes real live then
usable_bytes real live then
gross_bytes real live then
max_gross_bytes real greatest within the interval
blocks real live then
alloc_events int allocations since the row before, reallocs in both
free_events int frees since the row before
mapped_bytes int mapped by mmap and brk then
"""),
    ),
    Table(
        "stacks",
        "a node of the stack tree: a frame and its caller",
        _columns("""
stack_id int key; 0 is the empty stack
caller_id int the stack of the caller; 0 ends it
row_id int the return address: rows.row_id
depth int number of frames
"""),
    ),
    Table(
        "rows",
        "a return address that was seen",
        _columns("""
row_id int key
module_id int the file it lies in; null: none known
address int as it was in the process
module_offset int the same in the file's own terms; null: no file
"""),
    ),
    Table(
        "modules",
        "a file that was mapped with code",
        _columns("""
module_id int key
path text the file
build_id text hexadecimal; empty: it has none
load_bias int address minus the file's own address
start_address int first mapped address
end_address int first address after it
generation int counts dlopen and dlclose: a later map of modules has a larger one
"""),
    ),
    Table(
        "frames",
        "a function at a return address; inlined ones have rows of their own",
        _columns("""
row_id int rows.row_id
inline_depth int 0: innermost; the largest is the function the code belongs to
function text readable name; empty: unknown
mangled text the linker's name
file text source file; empty: unknown
line int line in it; null: unknown
module_id int the file of code; null: none known
module_offset int offset in it; null: none known
"""),
        note="Names are looked up when this table is first named.",
    ),
    Table(
        "sites",
        "a place that allocates: a stack without allocation wrappers, cut to its innermost frames",
        _columns("""
site_id int key
stack_id int a stack that stands for it
site_row int the return address that names it: rows.row_id
"""),
    ),
    Table(
        "stack_sites",
        "which site a stack belongs to",
        _columns("""
stack_id int stacks.stack_id
site_id int sites.site_id
"""),
    ),
    Table(
        "size_classes",
        "a size that was requested, as the model of the allocator in use serves it; empty where there is no model",
        _columns("""
requested_bytes int bytes asked for
usable_bytes int what the allocator's model gives
class_below_bytes int the largest request that fits the next smaller class; 0: there is none
clownshoe int 1: just above a class, so that much of the block is slop
class text the kind of size class: small, large, huge, mmap, ...
"""),
    ),
    Table(
        "blocks",
        "one block, from birth to death",
        _columns("""
block_id int key, in order of birth
thread int serial number of the allocating thread
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
        "moments",
        "a moment at which blocks were looked into; moment 0 stands for all frees, each at its own time",
        _columns("""
moment int key, in the order in which they were written
kind text free, exit, peak (the last candidate for it) or request
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
        _columns("""
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
        "resident",
        "what a part of the process's memory was used for at a moment; the resident ones add up to its RSS",
        _columns("""
moment int moments.moment
kind text heap (malloc's), stack, file, mapping (the program's own mmap), recorder, other (the loader's, the C library's, and what the recorder keeps)
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
        _columns("""
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
    Table(
        "type_sites",
        "a kind of allocation whose blocks hold a type that another order of its fields would make smaller",
        _columns("""
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
        _columns("""
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
        "reports",
        "a report of the program (tare/reporter.h): this block belongs to that path",
        _columns("""
path text what it was reported as
block_id int blocks.block_id; null: of a pool, or no live block begins there
pool_block_id int pool_blocks.pool_block_id; null: not of a pool
address int what was reported
requested_bytes int bytes asked for; null: no block
usable_bytes int malloc_usable_size, or what the pool handed out; null: no block
weight real blocks this one stands for; 1 unless sampled
time_ns int since the start
thread int serial number of the reporting thread
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
        _columns("""
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
        _columns("""
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
        _columns("""
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
    Table(
        "pools",
        "a pool that the program told of (tare/reporter.h); memory_bytes - used_bytes is its slop",
        _columns("""
pool_id int key, in order of making
name text what the program calls it
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
        _columns("""
memory_id int key
pool_id int pools.pool_id
address int where it lies
bytes int its length
stack_id int stacks.stack_id of what got it
thread int serial number of that thread
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
        _columns("""
pool_block_id int key, in order of birth
pool_id int pools.pool_id
address int where it lay
bytes int handed out
stack_id int stacks.stack_id
thread int serial number of the allocating thread
birth_ns int since the start
death_ns int since the start; null: live at the end
"""),
        note="Made by a walk over the whole trace, only when a statement names it.",
        heavy=True,
    ),
    Table(
        "observations",
        "what was seen of a block at its free (moment 0) and at each moment that it lived at, so that two moments can be"
        " compared by block_id; with --content, blocks without a row at their free were written to their end",
        _columns("""
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
        _columns("""
shape_id int site_sizes.shape_id
stack_id int where it was allocated: stacks.stack_id
requested_bytes int asked for, a block
ended_blocks real blocks that ended; those not in partly_blocks were written to their end
partly_blocks real of them, those with bytes at their end that were never written
max_high_water_bytes int the greatest high-water mark among all that ended
unwritten_peak_bytes real never written to the end, of blocks live at the peak that ended later
unwritten_total_bytes real never written, of all that ended
unwritten_pages real whole pages among those, of blocks of a page and more
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
site_high_water_bytes int the greatest mark among them
site_requested_bytes int the smallest request among them
"""),
        note="Empty without --content.",
    ),
    Table(
        "recreated",
        "contents that were freed before at the same stack, and were made there and freed once more",
        _columns("""
stack_id int where the blocks were allocated: stacks.stack_id
digest int of the bytes written
requested_bytes int the largest such block
content_class text text, zeros, other
times real blocks freed with these contents after the first
near_times real of them, those made while one of the stack's last 8 different contents was the same
bytes real requested by all of them
"""),
        note="Empty without --content.",
    ),
    Table(
        "call_costs",
        "a stack of whose blocks some calls were timed: one of malloc, calloc and free in some thousand is",
        _columns("""
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

BY_NAME = {table.name: table for table in TABLES}
