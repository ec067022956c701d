"""The recorded process, and its heap over time."""

from __future__ import annotations

from tare.schema.table import Table, columns

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

TABLES = (
    Table(
        "process",
        "the recorded process image; there is exactly one",
        columns(f"""
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
imported_from text the profiler and the format whose file `tare import` read; null: recorded by Tare
missing_facts text words for facts that this file doesn't have, separated by commas: usable (sizes, which count as those asked for), requested (sizes), entry-points, reallocs, pairs (which of several equal blocks a free ended), order (of events), times, peak, totals, counts (of blocks), end
contents_recorded int 1: blocks were filled when allocated, and looked at when they ended (tare run --content)
contents_at_exit int 1: blocks that were live at the exit were looked at then; they count as ended in written and peak_contents
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
unwind_failures int events whose stacks end before the outermost frame, for other reasons than unwind_gaps
folded_stacks int events with a part of their stack or none, because the recording had too many distinct ones
rounded_sizes int of those, events with sizes rounded up, because there were too many distinct sizes, too
rounding_bytes int what that added to their requested bytes
nested_events int events from a signal handler inside an allocation
python text version of the Python whose frames are in the stacks; after a colon, why they aren't: unknown-version, free-threaded, unknown-layout
moments int times that live blocks were looked into: rows of moments
threads int threads seen
inherited_blocks int blocks inherited through fork, or live when the segment began
inherited_usable_bytes int usable bytes of those
peak_time_ns int when the peak was, since the start
{_MOMENT_TOTALS}
segment int number of this segment of the recording, from 1; null: the recording is one file (tare run --max-size)
continued int 1: there is a later segment
before_ns int time recorded in the segments before; null as for segment, as all of these
before_alloc_events int allocations in those, without reallocs
before_free_events int frees in those, without reallocs
before_realloc_events int reallocs in those
before_map_events int changes of mappings in those
before_blocks int blocks allocated in those
before_requested_bytes int bytes asked of malloc in those
before_usable_bytes int usable bytes of the blocks
before_gross_bytes int usable bytes plus allocator headers of the blocks
before_peak_gross_bytes int the greatest peak of those
before_peak_ns int when that was, since the start of the first segment
before_dropped_events int events lost in those
rss_read_ns int when the launcher read the process's resident memory near its peak, since the start; null: never, as all down to page_table_bytes
rss_gross_bytes int gross bytes of the blocks that were live then
rss_heap_bytes int resident bytes of malloc's memory then
rss_mapping_bytes int resident bytes of the program's own mappings then
rss_mapping_spread_bytes int the mappings have at most so many more, or fewer, and the heap the opposite: the kernel joins neighbours
rss_file_bytes int resident bytes of programs, libraries and mapped files then
rss_shared_bytes int resident bytes of shared memory then
rss_stack_bytes int resident bytes of stacks then
rss_other_bytes int other resident bytes then
rss_recorder_bytes int the recorder's resident bytes then
huge_page_bytes int bytes of all these on anonymous huge pages
page_table_bytes int page tables then; not in the RSS
mapped_peak_bytes int greatest total of mmap and brk
mapped_end_bytes int mapped at the end
"""),
    ),
    Table(
        "timeline",
        "an interval of the run (at most 1,024 rows)",
        columns("""
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
)
