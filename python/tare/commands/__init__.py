"""The verbs, listed once in groups; each is a file here with SYNOPSIS, HELP, EXAMPLES, add_arguments() and run()."""

from __future__ import annotations

from keyword import iskeyword

# Title of a group -> its verbs, each with one line that needs no manual. `tare --help` prints the first group above the others.
GROUPS = {
    "": {
        "run": "record a program and print a summary of its heap",
        "report": "explain a recording: what is waste, and which lines cause it",
        "diff": "compare two recordings: what grew or shrank, and at which lines",
        "check": "fail a build if a recording exceeds a budget or a baseline",
        "explore": "look through a recording in the terminal",
        "top": "watch the heap of a program while it is recorded",
        "attach": "record a running program",
        "sql": "query the tables of a recording",
    },
    "Programs that run for months": {
        "watch": "take snapshots of the heap of services and other long runs, always",
    },
    "Look closer at a recording": {
        "counts": "list the requested sizes: frequency, and rounding by the allocator",
        "model": "compute the rounding under other allocators' size classes",
        "prove": "perform the remedies of findings on the recorded calls",
        "replay": "repeat the recorded calls under other allocators, and measure them",
        "export": "convert a recording for another tool: pprof, DHAT, massif, SARIF",
        "import": "read a file of another profiler: heaptrack, DHAT, massif, pprof",
        "tree": "print the heap by the paths of the program's own memory reports",
        "schema": "explain the tables and columns of `tare sql`",
    },
    "Many recordings in one store": {
        "fleet add": "add recordings to a store",
        "fleet report": "print quantiles over recordings, by build and source line",
        "fleet diff": "compare two groups of recordings: which sites changed",
        "fleet sql": "query the tables of a store",
        "fleet remove": "remove recordings from a store",
        "fleet retain": "remove old recordings and old builds from a store",
        "fleet compact": "merge the small files of a store",
        "fleet verify": "check the files of a store for damage",
    },
    "Look at programs without a recording": {
        "layout": "find padding in types, and orders of fields without it",
        "compare": "measure two commands side by side: time, memory, page faults",
    },
    "Control a running recording": {
        "snapshot": "take a snapshot of a program's live blocks now",
        "pause": "stop recording new blocks",
        "resume": "record new blocks again after a pause or `--start-paused`",
        "clean": "delete the files that killed recordings left in memory",
    },
    "Collector (tare::gc)": {
        "gc graph": "show which objects of a collected heap keep the most memory alive",
        "gc check": "find members in C++ sources that the collector can't see",
    },
    "GVariant and D-Bus": {
        "variant": "print and convert GVariant values, D-Bus messages, dconf databases",
    },
    "Shell": {
        "completion": "print a completion script for bash, zsh or fish",
    },
}
VERBS = {verb: line for verbs in GROUPS.values() for verb, line in verbs.items()}
PREFIXES = tuple(dict.fromkeys(verb.split()[0] for verb in VERBS if " " in verb))  # `gc`, `fleet`: need a second word


def module_of(verb: str) -> str:
    name = verb.replace(" ", ".")
    return f"tare.commands.{name}{'_' * iskeyword(name)}"
