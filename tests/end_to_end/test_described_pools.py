"""Allocators with pools: every block has its stack and its end, and no byte is counted twice."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Tare

Program = Callable[..., Path]
SOURCE = "pool_user.c"
DESCRIPTION = """
name = "testpool"
prefixes = ["pool_"]
current = "current_pool"
[functions]
create = { does = "create pool", pointer = 0, parent = 1 }
reset = { does = "reset pool", pool = 0 }
destroy = { does = "destroy pool", pool = 0 }
get = { does = "allocate", pool = 0, size = 1 }
get_zeroed = { does = "allocate", pool = 0, size = 1, zeroed = true }
get_current = { does = "allocate", size = 0 }
text = { does = "allocate", pool = 0, size = "string" }
resize = { does = "resize", pool = 0, pointer = 1, size = 2 }
put = { does = "free", pointer = 0 }
"""
EACH_ROUND = {40: 50, 56: 50, 72: 50}
KEPT = {24: 100, 200: 50, 12: 1}


def blocks(tare: Tare, trace: Path) -> tuple[dict[int, int], dict[int, int]]:
    """Of pools, by size: all blocks, and those that are live at the end."""
    rows = tare.sql(
        trace,
        "select requested_bytes as size, sum(total_blocks)::bigint as total, sum(end_blocks)::bigint as kept"
        " from site_sizes where api = 'pool block' group by 1 order by 1",
    )
    return (
        {row["size"]: row["total"] for row in rows},
        {row["size"]: row["kept"] for row in rows if row["kept"]},
    )


def check_sound(tare: Tare, trace: Path) -> None:
    """No event contradicts another one: each free is of a live block, each pool is known."""
    report = tare.report(trace)
    assert report["impossible_events"] == report["dropped_events"] == 0
    done = tare("sql", trace, "select count(*) from pools")
    assert done.returncode == 0
    assert "can't be" not in done.stderr + done.stdout


@pytest.mark.parametrize("flags", [(), ("-fcf-protection=full",), ("-no-pie",)], ids=lambda flags: " ".join(flags))
@pytest.mark.parametrize("threads", [0, 4])
def test_blocks_end_with_their_pools(tare: Tare, program: Program, threads: int, flags: tuple[str, ...]) -> None:
    path = program(SOURCE, "-rdynamic", *flags)
    (tare.folder / "f.toml").write_text(DESCRIPTION)
    trace = tare.record(path, str(threads), options=("--allocators", "f.toml"))
    check_sound(tare, trace)
    total, kept = blocks(tare, trace)
    each = max(threads, 1)
    others = {} if threads else {136: 7}
    expected = {size: count * 200 * each for size, count in EACH_ROUND.items()}
    expected |= {24: 150 * each, 200: 50 * each, 88: 20 * each, 12: each}
    assert total == expected | others
    assert kept == {size: count * each for size, count in KEPT.items()} | others
    # All bytes are those that malloc handed out: the same as without a description.
    plain = tare.record(path, str(threads), name="plain.tare")
    sums = "select {0}_usable_bytes as bytes from process"
    assert tare.sql(trace, sums.format("end")) == tare.sql(plain, sums.format("end"))
    if not threads:
        assert tare.sql(trace, sums.format("peak")) == tare.sql(plain, sums.format("peak"))


def test_pools_have_names_and_stacks(tare: Tare, program: Program) -> None:
    (tare.folder / "f.toml").write_text(DESCRIPTION)
    trace = tare.record(program(SOURCE, "-rdynamic"), options=("--allocators", "f.toml"))
    assert tare.sql(trace, "select distinct name from pools") == [{"name": "testpool"}]
    rows = tare.sql(
        trace,
        "select distinct function from site_sizes z join stacks s using (stack_id)"
        " join frames f on f.location_id = s.location_id and f.inline_depth = 0 where api = 'pool block'",
    )
    assert {row["function"] for row in rows} == {"work", "main"}


def test_the_account_divides_the_memory_of_pools(tare: Tare, program: Program) -> None:
    (tare.folder / "f.toml").write_text(DESCRIPTION)
    trace = tare.record(program(SOURCE, "-rdynamic"), options=("--allocators", "f.toml"))
    account = tare.report(trace)["account"]
    (sums,) = tare.sql(
        trace,
        "select sum(usable_bytes * peak_blocks) filter (api = 'pool block')::bigint as used,"
        " sum(usable_bytes * peak_blocks) filter (api = 'pool memory')::bigint as free from site_sizes",
    )
    held = sums["used"] + sums["free"]
    assert account["pools"] == {"held_bytes": held, "used_bytes": sums["used"], "free_bytes": sums["free"]}
    assert 0 < sums["free"] < held
    parts = {part["name"]: part for part in account["parts"]}
    assert parts["free in pools"]["bytes"] == sums["free"]
    assert not parts["free in pools"]["exact"]
    plain = tare.report(tare.record(program(SOURCE, "-rdynamic"), name="plain.tare"))["account"]
    assert plain["pools"] is None
    assert "free in pools" not in {part["name"] for part in plain["parts"]}


def test_a_sample_has_a_line_about_pools(tare: Tare, program: Program) -> None:
    (tare.folder / "f.toml").write_text(DESCRIPTION)
    path = program(SOURCE, "-rdynamic")
    options = ("run", "--allocators", "f.toml", "-o", "s.tare")
    done = tare(*options, "--sample", "4K", "--", path, "4")
    assert done.returncode == 0, done.stderr
    line = "tare: allocator testpool: with --sample, blocks of its pools aren't recorded: "
    assert [each.startswith(line) for each in done.stderr.splitlines()].count(True) == 1, done.stderr
    rows = tare.sql(tare.folder / "s.tare", "select distinct api from site_sizes where total_blocks > 0")
    assert rows
    assert not {row["api"] for row in rows} & {"pool block", "pool memory"}
    check_sound(tare, tare.folder / "s.tare")
    assert "--sample" not in tare(*options, "--", path, "4").stderr


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("destroy =", "destory =", "tare: allocator testpool isn't recorded: pool_destory: there is no such function"),
        ('"current_pool"', '"no_pool"', "tare: allocator testpool isn't recorded: no_pool: there is no such variable"),
        ("pool = 0 }", "pool = 7 }", "tare: f.toml: function reset: pool needs the number of an argument, 0 to 5: 7"),
        ('create = { does = "create pool", pointer = 0, parent = 1 }', "", "tare: f.toml: [functions] needs one that "),
        ('"destroy pool", pool = 0', '"destroy pool"', "tare: f.toml: function destroy: 'destroy pool' needs the "),
    ],
)
def test_a_wrong_description_is_one_line(tare: Tare, program: Program, old: str, new: str, line: str) -> None:
    (tare.folder / "f.toml").write_text(DESCRIPTION.replace(old, new, 1))
    done = tare("run", "--allocators", "f.toml", "-o", "w.tare", "--", program(SOURCE, "-rdynamic"))
    assert [each.startswith(line) for each in done.stderr.splitlines()].count(True) == 1, done.stderr


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("pool = 0, size = 1 }", "pool = 1, size = 0 }"),
        ("pointer = 0, parent = 1", "pointer = 1, parent = 0"),
        ("pointer = 0, parent = 1", "pool = 4, parent = 5"),
        ('reset = { does = "reset pool", pool = 0', 'reset = { does = "reset pool", pool = 3'),
        ('"allocate", size = 0', '"allocate", size = "string"'),
    ],
)
@pytest.mark.parametrize("threads", ["0", "4"])
def test_a_wrong_argument_harms_nothing(tare: Tare, program: Program, old: str, new: str, threads: str) -> None:
    (tare.folder / "f.toml").write_text(DESCRIPTION.replace(old, new, 1))
    done = tare("run", "--allocators", "f.toml", "-o", "w.tare", "--", program(SOURCE, "-rdynamic"), threads)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("svnadmin") is None, reason="Subversion isn't installed")
def test_pools_of_apr_in_subversion(tare: Tare) -> None:
    subprocess.run(["svnadmin", "create", tare.folder / "repository"], check=True)
    (tare.folder / "files").mkdir()
    for number in range(200):
        (tare.folder / f"files/{number}.txt").write_text(f"file {number}\n" * 50)
    url = f"file://{tare.folder}/repository"
    trace = tare.record("svn", "import", "-q", "-m", "some files", "files", url)
    check_sound(tare, trace)
    total, _ = blocks(tare, trace)
    assert sum(total.values()) > 10_000
    assert tare.sql(trace, "select distinct name from pools") == [{"name": "apr"}]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"nobody listens at port {port}")


def serve(
    tare: Tare,
    command: list[str | Path],
    use: Callable[[], None],
    pid_file: Path,
    end: signal.Signals,
    before: tuple[str, ...] = (),
) -> Path:
    """Records a server while `use` runs, then ends it by a signal."""
    recorder = subprocess.Popen(
        [*before, tare.command, "run", "-q", "-o", "t.tare", "--", *command],
        cwd=tare.folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        use()
    finally:
        if pid_file.exists():
            os.kill(int(pid_file.read_text().split()[0]), end)
        _, messages = recorder.communicate(timeout=120)
    assert recorder.returncode == 0, messages
    return tare.folder / "t.tare"


APACHE_MODULES = Path("/usr/lib/apache2/modules")
APACHE = """
ServerRoot {folder}
ServerName localhost
PidFile {folder}/apache.pid
DefaultRuntimeDir {folder}
ErrorLog {folder}/error.log
Listen 127.0.0.1:{port}
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule dir_module {modules}/mod_dir.so
LoadModule autoindex_module {modules}/mod_autoindex.so
StartServers 1
ServerLimit 1
ThreadsPerChild 8
MaxRequestWorkers 8
DocumentRoot {folder}/site
<Directory {folder}/site>
  Require all granted
  Options Indexes
</Directory>
"""


@pytest.mark.skipif(not Path("/usr/sbin/apache2").exists() or shutil.which("ab") is None, reason="no apache2 and ab")
def test_pools_of_apr_in_threads_of_apache(tare: Tare) -> None:
    port = free_port()
    (tare.folder / "site").mkdir()
    for number in range(20):
        (tare.folder / f"site/{number}.txt").write_text("text\n" * number)
    tare.folder.chmod(0o755)
    (tare.folder / "httpd.conf").write_text(APACHE.format(folder=tare.folder, port=port, modules=APACHE_MODULES))

    def use() -> None:
        wait_for(port)
        subprocess.run(["ab", "-q", "-n", "2000", "-c", "8", f"http://127.0.0.1:{port}/"], check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip

    command: list[str | Path] = ["/usr/sbin/apache2", "-DFOREGROUND", "-f", tare.folder / "httpd.conf"]
    trace = serve(tare, command, use, tare.folder / "apache.pid", signal.SIGTERM)
    most = 0
    for each in (trace, *tare.others("t.tare")):
        check_sound(tare, each)
        total, _ = blocks(tare, each)
        most = max(most, sum(total.values()))
    assert most > 100_000  # 2,000 requests for a list of files


NGINX = """
daemon off; master_process off; pid nginx.pid; error_log stderr;
events { worker_connections 64; }
http { access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  server { listen 127.0.0.1:PORT; root site; autoindex on; gzip on; gzip_types *; } }
"""


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx isn't installed")
def test_pools_of_nginx(tare: Tare) -> None:
    port = free_port()
    (tare.folder / "site").mkdir()
    (tare.folder / "site/page.txt").write_text("a page\n" * 1000)
    (tare.folder / "nginx.conf").write_text(NGINX.replace("PORT", str(port)))

    def use() -> None:
        wait_for(port)
        for _ in range(300):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/page.txt") as answer:
                answer.read()

    command: list[str | Path] = ["nginx", "-p", f"{tare.folder}/", "-c", "nginx.conf"]
    trace = serve(tare, command, use, tare.folder / "nginx.pid", signal.SIGQUIT)
    check_sound(tare, trace)
    total, kept = blocks(tare, trace)
    assert sum(total.values()) > 300 * 20
    assert sum(kept.values()) < sum(total.values()) / 4  # requests' pools are destroyed


def postgres_folder() -> Path | None:
    return next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)


# The server refuses to run as root. In a user namespace, root's processes have another number.
AS_USER = ("unshare", "--user", "--map-user=1000") if os.geteuid() == 0 else ()


@pytest.mark.skipif(postgres_folder() is None, reason="PostgreSQL isn't installed")
def test_memory_contexts_of_postgres(tare: Tare) -> None:
    binaries = postgres_folder()
    assert binaries is not None
    port = free_port()
    data = tare.folder / "data"
    subprocess.run([*AS_USER, binaries / "initdb", "-D", data, "-A", "trust", "-U", "user"], check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    common = ["-h", "127.0.0.1", "-p", str(port), "-U", "user", "postgres"]

    def wait_until_ready() -> None:
        """It listens before it has started up, and refuses those who connect meanwhile."""
        for _ in range(600):
            if subprocess.run([binaries / "pg_isready", "-q", *common[:4]]).returncode == 0:
                return
            time.sleep(0.1)
        raise AssertionError("PostgreSQL doesn't start up")

    def use() -> None:
        wait_for(port)
        wait_until_ready()
        bench = binaries / "pgbench"
        subprocess.run([bench, "-i", "-q", "-s", "1", *common], check=True, capture_output=True)
        subprocess.run([bench, "-c", "2", "-t", "200", *common], check=True, capture_output=True)

    command: list[str | Path] = [binaries / "postgres", "-D", data, "-p", str(port), "-k", tare.folder]
    trace = serve(tare, command, use, data / "postmaster.pid", signal.SIGINT, AS_USER)
    most: tuple[int, int] = (0, 0)
    for each in (trace, *tare.others("t.tare")):
        check_sound(tare, each)
        total, kept = blocks(tare, each)
        most = max(most, (sum(total.values()), sum(kept.values())))
    assert most[0] > 20_000
    assert most[1] < most[0] / 10  # contexts of statements are reset or deleted with all of their blocks
