"""Options that several verbs take: each has one name, one meaning and one form of its value in all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


EVERYTHING = "*"  # the value of --content without lenses
DEFAULT_BUDGET = "cpu=0.5%"


def rows(text: str) -> int | None:
    """A limit of printed rows; None: no limit."""
    if text == "all":
        return None
    if not text.isdecimal():
        raise ValueError("a number of rows, or 'all'")
    return int(text)


def at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError("a whole number from 1 on")
    return int(text)


def share(text: str) -> float:
    """Percent."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise ValueError("a number from 0 to 100")
    return value


def seconds(text: str) -> float:
    """A duration of `--for` and `--interval`, in the forms of `--at`: 60, 1.5s, 300ms or 2min."""
    from tare.text.durations import parse_duration

    try:
        return parse_duration(text)
    except ValueError:
        raise ValueError("a time such as 60, 1.5s, 300ms or 2min") from None


def add_rows(parser: argparse.ArgumentParser, default: int, what: str = "rows") -> None:
    parser.add_argument(
        "-n",
        "--rows",
        type=rows,
        default=default,
        metavar="N",
        help=f"print at most N {what}; all: no limit (default: {default})",
    )


def add_runs(parser: argparse.ArgumentParser, default: int | None, what: str, described: str = "") -> None:
    """`described` is the text about a default that isn't one number."""
    parser.add_argument(
        "--runs", type=at_least_one, default=default, metavar="N", help=f"{what} (default: {described or default})"
    )


def add_depth(parser: argparse.ArgumentParser) -> None:
    from tare.analysis.recording import SITE_DEPTH

    parser.add_argument(
        "--depth",
        type=at_least_one,
        default=SITE_DEPTH,
        metavar="N",
        help=f"innermost frames that distinguish sites (default: {SITE_DEPTH})",
    )


def add_suppressions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--suppressions",
        action="append",
        default=[],
        metavar="FILE",
        help="known leaks in LeakSanitizer's format: lines of leak:PATTERN; repeatable",
    )


def add_json(parser: argparse.ArgumentParser, what: str = "print everything as one JSON object") -> None:
    parser.add_argument("--json", action="store_true", help=what)


def add_trace(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="a trace of `tare run`, or the spool of a recording that was killed"
    )


def add_budget(parser: argparse.ArgumentParser, what: str) -> None:
    """Limits of a recorder that samples: `tare run`, `tare attach` and `tare watch`."""
    text = f"{what} (without LIMITS: {DEFAULT_BUDGET})".replace("%", "%%")
    parser.add_argument("--budget", nargs="?", const=DEFAULT_BUDGET, default="", metavar="LIMITS", help=text)


def add_recording(parser: argparse.ArgumentParser) -> None:
    """How to record: `tare run` and `tare attach`."""
    parser.add_argument("-o", "--output", metavar="FILE", default="", help="the trace (default: tare.PROGRAM.PID.tare)")
    parser.add_argument(
        "--sample",
        metavar="BYTES",
        default="0",
        help="record one allocation in BYTES on average, such as 512K or 4M (default: every allocation)",
    )
    add_budget(
        parser,
        "widen the distance of --sample (default with a budget: 512K) to keep limits such as cpu=0.5%,memory=16M,"
        "disk=64M: the recorder's share of each process's CPU time, its memory there, and all traces",
    )
    parser.add_argument("--free-stacks", action="store_true", help="also record the stacks of frees")
    parser.add_argument(
        "--content",
        nargs="?",
        const=EVERYTHING,
        default="",
        metavar="LENS,...",
        help="also record what blocks contain: fills blocks when they are allocated, so it takes more time; with lenses: "
        "only what these lenses need",
    )
    parser.add_argument(
        "--snapshots",
        action="store_true",
        help="take snapshots of live blocks near the peak and at the exit; each stops the program shortly",
    )
    parser.add_argument(
        "--max-size",
        metavar="BYTES",
        default="0",
        help="cut the recording into segments of at most BYTES on disk, such as 64M: FILE is the latest, FILE.s1, ... are older",
    )
    parser.add_argument(
        "--rotate",
        metavar="N",
        default="0",
        help="keep the newest N segments, on a full disk fewer; needs --max-size (default: all)",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print no summary")


def add_html(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument("--html", action="store_true", help="write a page with graphs: one file, which loads nothing")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help=f"--html: the page; -: standard output (default: {default})"
    )
    parser.add_argument("--open", action="store_true", help="--html: show the page in the browser")


def add_sources(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sources",
        action="store_true",
        help="--html: the page also has lines of the program's sources with their amounts; they may be secret",
    )
