"""DuckDB and Spark give equal figures of recordings of twenty real programs, and a command that uses Spark leaves nothing behind.

Recordings: $TARE_FLEET_RECORDINGS, or 40. `make test-spark` has 500. Comparisons need 240, 12 of each program.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from seeded_programs import PROGRAMS, commands
from tare.fleet.comparison import COLUMNS as MEASURES
from tare.fleet.comparison import compare
from tare.fleet.quantiles import Fleet, programs
from tare.fleet.spark import SparkStore
from tare.fleet.spark_session import missing
from tare.fleet.store import Store, condition
from tare.reports import fleet_difference

if TYPE_CHECKING:
    from conftest import Tare

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing() or "Spark is installed")]
nightly = pytest.mark.nightly
SPARK = ("--engine", "spark", "--spark-master", "local[2]")
EACH = max(2, int(os.environ.get("TARE_FLEET_RECORDINGS", "40")) // len(PROGRAMS))
LEAST_COMPARED = 12
MACHINES = 5
OPTIONS = (("--snapshots", "--content"), ())  # by turns, so that lenses have recordings in which they didn't run
END_S = 60.0

Stores = tuple[Store, SparkStore]


@pytest.fixture(scope="module")
def path(tare_module: Tare) -> Path:
    """Recordings of two builds, on five machines each. All files are merged but those of the last machine."""
    inputs = tare_module.folder / "inputs"
    inputs.mkdir()
    traces: dict[tuple[str, str], list[Path]] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for seed in range(EACH):
            made = pool.map(
                lambda name, command, seed=seed: tare_module.record(
                    *command, name=f"{name}-{seed}.tare", options=OPTIONS[seed // 2 % len(OPTIONS)]
                ),
                *zip(*commands(inputs, seed).items(), strict=True),
            )
            traces.setdefault((str(seed % 2), f"m{seed // 2 % MACHINES}"), []).extend(made)
    *_, last = traces
    for (build, machine), some in traces.items():
        if (build, machine) == last:
            done = tare_module("fleet", "compact", "s")
            assert done.returncode == 0, done.stderr
        done = tare_module("fleet", "add", "s", *some, "--build", build, "--machine", machine, timeout_s=3600)
        assert done.returncode == 0, done.stderr
    return tare_module.folder / "s"


@pytest.fixture(scope="module")
def stores(path: Path) -> Stores:
    return Store(path), SparkStore(path, (), "local[2]")


def differences(one: Any, other: Any, place: str = "") -> list[str]:
    """Places with other types, integers or texts, or doubles that differ by more than 1e-9 of the larger one."""
    if type(one) is not type(other):
        return [f"{place}: {one!r} {other!r}"]
    if isinstance(one, dict):
        one, other = sorted(one.items()), sorted(other.items())
    if isinstance(one, list | tuple):
        if len(one) != len(other):
            return [f"{place}: {len(one)} {len(other)} items"]
        pairs = enumerate(zip(one, other, strict=True))
        return [found for at, pair in pairs for found in differences(*pair, f"{place}[{at}]")]
    same = math.isclose(one, other, rel_tol=1e-9) if isinstance(one, float) else one == other
    return [] if same else [f"{place}: {one!r} {other!r}"]


def test_differences_are_found() -> None:
    assert differences([1, (2.0, "a"), {"b": None}], [1, (2.0 + 1e-12, "a"), {"b": None}]) == []
    for other in ([1], [1, (2.0, "b")], [1.0, (2.0, "a")], [1, (2.1, "a")], [1, (2.0, None)]):
        assert len(differences([1, (2.0, "a")], other)) == 1


def test_tables_are_equal(stores: Stores) -> None:
    assert len(programs(stores[0])) == len(PROGRAMS)
    for table, order in (
        ("recordings", "recording"),
        ("site_sums", "site, recording"),
        ("claims", "lens, site, recording"),
        ("sites", "site, build_id"),
    ):
        one, other = (store.rows(f"select * from {table} order by {order}") for store in stores)
        assert one
        assert differences(one, other) == []


def test_figures_of_reports_are_equal(stores: Stores) -> None:
    """Of all programs, or of every fourth if there are few recordings."""
    found = 0
    for program in programs(stores[0])[:: 1 if EACH >= LEAST_COMPARED else 4]:
        one, other = (Fleet(store, program) for store in stores)
        lenses, sites = one.lenses(), one.sites(None)
        assert lenses
        found += len(sites)
        assert differences(one.builds, other.builds) == []
        assert differences(lenses, other.lenses()) == []
        assert differences(sites, other.sites(None)) == []
        numbers = sorted({each.site or 0 for each in sites})
        assert differences(one.places(numbers), other.places(numbers)) == []
        assert differences(one.worst(5), other.worst(5)) == []
    assert found


def test_quantiles_of_each_lens_over_all_programs_are_equal(stores: Stores) -> None:
    """Reports show P99 from 368 recordings of a build on."""
    columns = ", ".join(
        f"percentile_cont({p}) within group (order by {column})"
        for column in ("peak_bytes", "end_bytes", "total_bytes")
        for p in (0.5, 0.9, 0.99)
    )
    one, other = (
        store.rows(
            f"""select lens, count(*), {columns} from (
              select lens, recording, sum(peak_bytes) as peak_bytes, sum(end_bytes) as end_bytes, sum(total_bytes) as total_bytes
              from claims group by lens, recording
            ) summed group by lens order by lens"""
        )
        for store in stores
    )
    assert len(one) > 5
    assert differences(one, other) == []


@nightly
@pytest.mark.skipif(EACH < LEAST_COMPARED, reason=f"needs TARE_FLEET_RECORDINGS={LEAST_COMPARED * len(PROGRAMS)}")
@pytest.mark.parametrize(("turn", "measure"), list(enumerate(MEASURES)))
def test_comparisons_are_equal(path: Path, stores: Stores, turn: int, measure: str) -> None:
    """Each program by one measure."""
    for program in programs(stores[0])[turn :: len(MEASURES)]:
        where = [condition(f"program={program}")]
        before, after = ([condition(f"build={build}")] for build in "01")
        one, other = (
            fleet_difference.as_json(compare(store, before, after, measure, "machine", None), measure)
            for store in (Store(path, where), SparkStore(path, where, "local[2]"))
        )
        assert one["tested_sites"]
        assert differences(one, other) == []


@nightly
def test_a_command_prints_the_answer_alone(tare_module: Tare, path: Path, tmp_path: Path) -> None:
    """Spark's messages stay off the terminal, and neither the working directory nor TMPDIR has a new file."""
    scratch, folder = tmp_path / "tmp", tmp_path / "here"
    scratch.mkdir()
    folder.mkdir()
    environment = os.environ | {"TMPDIR": str(scratch)}
    command = [tare_module.command, "fleet", "report", str(path), "--json"]
    one, other = (
        subprocess.run([*command, *options], capture_output=True, text=True, cwd=folder, env=environment)
        for options in ((), SPARK)
    )
    assert (one.returncode, one.stderr) == (other.returncode, other.stderr) == (0, "")
    assert one.stdout == other.stdout
    assert [*folder.iterdir(), *scratch.iterdir()] == []


@nightly
@pytest.mark.parametrize(
    "command", [("report",), ("diff", "--before", "build=0", "--after", "build=1", "--unit", "recording")]
)
def test_pages_are_equal(tare_module: Tare, path: Path, command: tuple[str, ...]) -> None:
    """Of the program with the most bytes."""
    program = max(
        programs(Store(path)),
        key=lambda name: Store(path, [condition(f"program={name}")]).entries[0]["peak_gross_bytes"],
    )
    pages = []
    for engine in ((), SPARK):
        page = tare_module.folder / f"{command[0]}-{len(pages)}.html"
        options = ("--where", f"program={program}", "--html", "-o", page, *engine)
        done = tare_module("fleet", command[0], path, *command[1:], *options, timeout_s=1800)
        assert (done.returncode, done.stderr) == (0, f"tare: wrote {page}\n")
        pages.append(page.read_bytes())
    assert b"<h2" in pages[0]
    assert pages[0] == pages[1]


@nightly
def test_a_store_in_s3_is_read_by_both_engines(tare_module: Tare, path: Path, tmp_path: Path) -> None:
    """Hadoop's package for S3 comes from Maven's registry."""
    moto = pytest.importorskip("moto.server")
    import pyspark

    (hadoop,) = Path(pyspark.__file__).parent.glob("jars/hadoop-client-api-*.jar")
    version = hadoop.stem.removeprefix("hadoop-client-api-")
    server = moto.ThreadedMotoServer(port=0, verbose=False)
    server.start()
    try:
        endpoint = f"http://127.0.0.1:{server.get_host_and_port()[1]}"
        settings = {
            "jars.packages": f"org.apache.hadoop:hadoop-aws:{version}",
            "hadoop.fs.s3a.endpoint": endpoint,
            "hadoop.fs.s3a.endpoint.region": "us-east-1",
            "hadoop.fs.s3a.path.style.access": "true",
            "hadoop.fs.s3a.access.key": "testing",
            "hadoop.fs.s3a.secret.key": "testing",
        }
        (tmp_path / "spark-defaults.conf").write_text(
            "".join(f"spark.{name} {value}\n" for name, value in settings.items())
        )
        environment = {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "us-east-1",
            "SPARK_CONF_DIR": str(tmp_path),
        }
        import s3fs

        files = s3fs.S3FileSystem(key="testing", secret="testing", endpoint_url=endpoint)
        files.mkdir("fleet")
        files.put(f"{path}/", "fleet/all/", recursive=True)
        answers = []
        program = programs(Store(path))[0]
        for store, engine in ((path, ()), ("s3://fleet/all", ()), ("s3://fleet/all", SPARK)):
            command = ("fleet", "report", store, "--where", f"program={program}", "--json", *engine)
            done = tare_module(*command, env=environment, timeout_s=1800)
            assert (done.returncode, done.stderr) == (0, "")
            answers.append(done.stdout)
        assert answers[0] == answers[1] == answers[2]
    finally:
        server.stop()


@nightly
def test_a_wrong_master_is_one_line(tare_module: Tare, path: Path) -> None:
    done = tare_module("fleet", "report", path, "--engine", "spark", "--spark-master", "nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tare: fleet: can't start Spark: ")
    assert ": check --spark-master nowhere and " in done.stderr and done.stderr.count("\n") == 1


@nightly
def test_a_java_that_fails_is_one_line(tare_module: Tare, path: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin/java"
    java.write_text("#!/bin/sh\necho 'Error: java.lang.UnsupportedClassVersionError' >&2\nexit 1\n")
    java.chmod(0o755)
    done = tare_module("fleet", "report", path, *SPARK, env={"JAVA_HOME": str(tmp_path)})
    assert (done.returncode, done.stdout) == (2, "")
    assert "can't start Spark: Error: java.lang.UnsupportedClassVersionError: check --spark-master" in done.stderr
    assert done.stderr.count("\n") == 1


@nightly
@pytest.mark.parametrize("moment", ["Java starts", "a statement runs"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_ended_command_leaves_nothing(
    tare_module: Tare, path: Path, tmp_path: Path, moment: str, number: signal.Signals
) -> None:
    command = [tare_module.command, "fleet", "sql", path, "select sum(id % 7) from range(1000000000000)", *SPARK]
    started = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": str(tmp_path)}
    )
    pattern = "tare-spark-*/log" if moment == "Java starts" else "tare-spark-*/blockmgr-*"
    wait_for(lambda: any(tmp_path.glob(pattern)))
    time.sleep(1 if moment == "Java starts" else 15)
    children = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()
    assert children and started.poll() is None
    started.send_signal(number)
    out, errors = started.communicate(timeout=END_S)
    assert (started.returncode, out, errors) == (130 if number == signal.SIGINT else -number, "", "")
    if number == signal.SIGKILL:
        wait_for(lambda: not any(is_running(child) for child in children))
    assert not any(is_running(child) for child in children)
    if (moment, number) == ("Java starts", signal.SIGKILL):  # Java doesn't know the folder yet
        clean_later(tare_module, tmp_path)
    assert list(tmp_path.iterdir()) == []


def clean_later(tare: Tare, parent: Path) -> None:
    """In a minute."""
    for folder in parent.iterdir():
        os.utime(folder, (0, 0))
    assert tare("clean", parent).returncode == 0


def is_running(process: str) -> bool:
    """Nobody waits for children of a killed process, where no init does."""
    try:
        return Path("/proc", process, "stat").read_text().rsplit(") ", 1)[1][0] != "Z"
    except OSError:
        return False


def wait_for(condition: Any) -> None:
    end = time.monotonic() + END_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)
