"""Call stacks: frames, the files they lie in, and the places that allocate."""

from __future__ import annotations

from tare.schema.table import Table, columns

TABLES = (
    Table(
        "stacks",
        "a node of the stack tree: a frame and its caller",
        columns("""
stack_id int key; 0 is the empty stack
caller_id int the stack of the caller; 0 ends it
row_id int the return address: rows.row_id
depth int number of frames
"""),
    ),
    Table(
        "rows",
        "a return address that was seen",
        columns("""
row_id int key
module_id int the file it lies in; null: none known
address int as it was in the process
module_offset int the same in the file's own terms; null: no file
"""),
    ),
    Table(
        "modules",
        "a file that was mapped with code",
        columns("""
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
        "unwind_gaps",
        "a file in whose code stacks end too early, because it has no unwind table there",
        columns("""
module_id int the file: modules.module_id; null: code made at run time
row_id int the first such return address: rows.row_id
stacks int events whose stacks end so
"""),
    ),
    Table(
        "frames",
        "a function at a return address; inlined ones have rows of their own",
        columns("""
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
        columns("""
site_id int key
stack_id int a stack that stands for it
site_row int the return address that names it: rows.row_id
"""),
    ),
    Table(
        "stack_sites",
        "which site a stack belongs to",
        columns("""
stack_id int stacks.stack_id
site_id int sites.site_id
"""),
    ),
)
