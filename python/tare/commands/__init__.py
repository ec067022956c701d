"""The verbs, listed once; each is a file here with SYNOPSIS, HELP, EXAMPLES, add_arguments() and run()."""

from __future__ import annotations

# name -> what it does, in a line; in the order in which a newcomer meets them
VERBS = {
    "run": "record a program and say where its heap's tare is",
    "attach": "record a running program whose recorder sleeps",
    "pause": "stop recording a running program's new blocks",
    "resume": "record them again, or wake a recorder that sleeps",
    "snapshot": "look into a running program's live blocks now",
    "top": "a running program's heap as it changes: rates, sites, findings so far",
    "report": "explain a recording: balance, findings, records by site",
    "tree": "the heap by the paths that the program reported, and what it didn't",
    "counts": "which sizes are asked for, how often, and what the allocator makes of them",
    "model": "the slop under other allocators' size classes, your own, and the best there are",
    "layout": "how types lie in memory: padding, better orders of fields, narrower pointers",
    "replay": "the calls of a recording performed again, against real allocators",
    "diff": "what changed between two recordings, by lens and by site",
    "check": "hold recordings against a budget or a baseline, for CI",
    "compare": "is the changed program faster: both unrecorded, side by side",
    "sql": "ask a recording's tables yourself",
    "schema": "the tables and columns there are to ask",
    "variant": "show, search and convert GVariant values, D-Bus messages and dconf databases",
    "gc-graph": "a snapshot of a collected heap: what keeps how much alive, and who keeps that",
    "gc-check": "what C++ sources do with collected objects that the collector can't see",
    "clean": "delete what recordings left in memory whose `tare run` was killed",
    "completion": "a completion script for bash, zsh or fish",
}


def module_of(verb: str) -> str:
    return f"tare.commands.{verb.replace('-', '_')}"
