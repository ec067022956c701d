"""Options that several verbs of `fleet` take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.errors import USAGE, TareError
from tare.fleet.remote import location
from tare.fleet.store import condition

if TYPE_CHECKING:
    import argparse

    from tare.fleet.store import Store


def add_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "store",
        metavar="STORE",
        type=location,
        help="the folder of the store, or its address in an object store, such as s3://bucket/fleet",
    )


def add_where(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "--where",
        metavar="NAME=PATTERN",
        type=condition,
        action="append",
        default=[],
        help=f"{what}: NAME is program, build, machine, path, key or a label; PATTERN may have * and ?; repeatable",
    )


def add_engine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--engine",
        choices=("duckdb", "spark"),
        default="duckdb",
        help="compute with DuckDB, or with Spark, which needs pyspark and Java (default: duckdb)",
    )
    parser.add_argument(
        "--spark-master",
        metavar="URL",
        help="--engine spark: the cluster, such as spark://host:7077 (default: local[*], the cores of this machine)",
    )


def check_forms(options: argparse.Namespace, verb: str) -> None:
    """Of output: text, JSON or a page."""
    if (options.output or options.open) and not options.html:
        raise TareError(USAGE, f"{verb}: -o and --open go with --html")
    if options.html and options.json:
        raise TareError(USAGE, f"{verb}: --html and --json are two forms of output; give one")


def store_of(options: argparse.Namespace) -> Store:
    """The store, read by the chosen engine."""
    from tare.fleet.store import Store

    if options.engine == "duckdb":
        if options.spark_master:
            raise TareError(USAGE, "fleet: --spark-master goes with --engine spark")
        return Store(options.store, options.where)
    from tare.fleet.spark import SparkStore
    from tare.fleet.spark_session import LOCAL

    return SparkStore(options.store, options.where, options.spark_master or LOCAL)
