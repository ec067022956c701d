"""`tare watch` and verdicts about kills on a real system: Debian with systemd and version 2 of control groups, in a virtual machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parent / "machine"))

from virtual import Machine, built, why_not

pytestmark = pytest.mark.nightly

REDIS = "/var/lib/tare/redis-server"
LEAK = "/var/lib/tare/leak"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    if why := why_not():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("machine")
    made = Machine(built(folder), folder)
    try:
        yield made
    finally:
        made.close()


def service(machine: Machine, name: str, text: str) -> None:
    machine.ok(f"cat > /etc/systemd/system/{name}.service <<'E'\n[Service]\n{text}\nE\nsystemctl daemon-reload")


def watched(machine: Machine, name: str, *options: str) -> None:
    """A running service that is watched in short rounds."""
    machine.ok(f"tare watch --install {name}.service")
    words = " ".join(("--every 2s --poll 1s", *options))
    unit = f"/etc/systemd/system/tare-watch-{name}.service"
    machine.ok(f"sed -i 's|watch --serve|watch {words} --serve|' {unit} && systemctl daemon-reload")
    machine.ok(f"systemctl restart {name}.service")


def unwatched(machine: Machine, name: str) -> None:
    machine.run(f"systemctl stop {name} tare-watch-{name}; tare watch --uninstall {name}.service")
    machine.run(f"rm -rf /var/lib/tare/{name} /var/lib/private/tare/{name}; systemctl reset-failed")


def end_of(machine: Machine, address: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(machine.ok(f"tare report {address} --json"))["watched_end"]
    return found


@pytest.fixture
def redis(machine: Machine) -> Iterator[str]:
    watched(machine, "redis-server")
    machine.ok("redis-cli eval \"for i=1,20000 do redis.call('set','k'..i,string.rep('x',1000)) end\" 0")
    machine.until(f"ls {REDIS}/snapshots/*.timer.*.tare")
    yield REDIS
    unwatched(machine, "redis-server")


def test_the_system_is_the_one_that_is_meant(machine: Machine) -> None:
    assert "cgroup2 /sys/fs/cgroup" in machine.ok("grep cgroup /proc/mounts")
    assert machine.ok("cat /proc/1/comm") == "systemd\n"


def test_debians_redis_is_watched_in_its_sandbox(machine: Machine, redis: str) -> None:
    assert "/" in machine.ok("systemctl show --property=NoExecPaths --value redis-server.service")
    assert "cannot be preloaded" not in machine.ok("journalctl --no-pager -b -u redis-server")
    assert machine.ok("systemctl is-active redis-server tare-watch-redis-server").split() == ["active", "active"]
    assert "libtare-record" in machine.ok("cat /proc/$(pidof redis-server)/maps")
    assert machine.ok("systemctl show --property=User --value tare-watch-redis-server") == "redis\n"
    machine.until(f"curl -sf --unix-socket {redis}/socket http://tare/metrics | grep '^tare_heap_live_bytes{{'")
    for user in ("root", "redis"):
        run = f"cd /tmp; HOME=/tmp/{user} runuser -u {user} -- "
        assert "redis-server" in machine.ok(f"{run} tare report {redis}@now")
        machine.ok(f"{run} tare diff {redis}@1h {redis}@last")
        assert "redis-server" in machine.ok(f"{run} tare top {redis} --once")
    done = machine.run(f"runuser -u someone -- tare report {redis}@last")
    assert done.status != 0 and done.stderr.count("\n") == 1 and "belongs to another user" in done.stderr


def test_requests_by_socket_and_signal(machine: Machine, redis: str) -> None:
    machine.until(f"curl -sf -X POST --unix-socket {redis}/socket http://tare/snapshot | grep .http.")
    machine.ok("systemctl kill -s USR1 tare-watch-redis-server")
    machine.until(f"ls {redis}/snapshots/*.signal.*.tare")


def test_uninstalling_restores_the_service(machine: Machine) -> None:
    before = machine.ok("systemctl cat redis-server.service")
    watched(machine, "redis-server")
    machine.ok("tare watch --uninstall redis-server.service && systemctl stop tare-watch-redis-server")
    machine.ok("systemctl restart redis-server.service")
    assert machine.ok("systemctl cat redis-server.service") == before
    assert "libtare" not in machine.ok("cat /proc/$(pidof redis-server)/maps")
    assert machine.run("test -e /etc/systemd/system/redis-server.service.d").status == 1
    unwatched(machine, "redis-server")


@pytest.mark.parametrize("extra", ["", "OOMPolicy=kill"], ids=["one process", "the whole group"])
def test_an_out_of_memory_kill_of_a_service_that_restarts(machine: Machine, extra: str) -> None:
    service(
        machine,
        "leak",
        f"ExecStart=/programs/leaking 128 50\nDynamicUser=yes\nMemoryMax=60M\nRestart=always\nRestartSec=100ms\n{extra}",
    )
    watched(machine, "leak")
    machine.until(f"ls {LEAK}/snapshots/*.killed.*.note", within_s=240)
    machine.ok("systemctl stop leak.service")
    end = end_of(machine, f"$(ls {LEAK}/snapshots/*.killed.*.tare | head -1)")
    assert end["out_of_memory"] == "yes", end
    assert end["group"] == "/sys/fs/cgroup/system.slice/leak.service"
    # Linux 6.1 counts the first victim of a group twice: as itself, and as a member.
    assert end["kills_after"] - end["kills_before"] == (2 if extra else 1)
    assert end["limit_bytes"] == 60 << 20
    assert 30 << 20 < end["live_bytes"] < 80 << 20
    assert "session" in json.dumps(end["growth"]["sites"][0]["stack"])
    unwatched(machine, "leak")


def test_a_plain_kill_is_none_for_lack_of_memory(machine: Machine) -> None:
    service(machine, "leak", "ExecStart=/programs/leaking 128 1 20\nMemoryMax=60M")
    watched(machine, "leak")
    machine.until(f"ls {LEAK}/snapshots/*.timer.*.tare")
    machine.ok("systemctl kill -s KILL leak.service")
    machine.until(f"ls {LEAK}/snapshots/*.killed.*.note")
    end = end_of(machine, f"{LEAK}@last")
    assert end["out_of_memory"] == "no"
    unwatched(machine, "leak")


def test_a_launcher_that_is_killed_with_its_program_loses_nothing(machine: Machine) -> None:
    """memory.oom.group: the kernel kills both."""
    service(
        machine,
        "recorded",
        "ExecStart=tare run -q -o /root/recorded.tare -- /programs/leaking 128 5\nMemoryMax=160M\nOOMPolicy=kill\nMemorySwapMax=0",
    )
    machine.ok("rm -f /root/recorded.tare*; systemctl start recorded.service")
    machine.until("systemctl show --property=Result --value recorded.service | grep oom-kill", within_s=240)
    found = json.loads(machine.ok("tare report /root/recorded.tare --json"))
    assert found["impossible_events"] == 0
    assert "session" in json.dumps(found)
    live = machine.ok("tare sql /root/recorded.tare 'select events from process' --json")
    assert json.loads(live)[0]["events"] > 500
    assert machine.run("ls -d /dev/shm/*tare*").status != 0, "the report frees the memory"


def kill_in(machine: Machine, trace: str, certainty: str) -> dict[str, Any]:
    found = json.loads(machine.ok(f"tare report {trace} --json"))
    assert found["impossible_events"] == 0
    assert found["memory_kill"] is not None, found["warnings"]
    kill: dict[str, Any] = found["memory_kill"]
    assert kill["out_of_memory"] == certainty, kill
    assert kill["kills_after"] - kill["kills_before"] == 1
    return kill


@pytest.mark.parametrize("options", ["", "--sample 64K"], ids=["exact", "sampled"])
def test_tare_run_states_the_kill_of_its_program(machine: Machine, options: str) -> None:
    limits = "-p MemoryMax=150M -p MemorySwapMax=0 -p OOMPolicy=continue"
    done = machine.run(
        f"rm -f /root/run.tare*; systemd-run --quiet --wait --collect --pipe --unit=killed-run {limits} "
        f"tare run -o /root/run.tare {options} -- /programs/leaking 512 2"
    )
    assert done.status != 0
    assert "was killed by the out-of-memory killer" in " ".join(done.stderr.split())
    kill = kill_in(machine, "/root/run.tare", "yes")
    assert kill["group"] == "/sys/fs/cgroup/system.slice/killed-run.service"
    assert kill["limit_bytes"] == 150 << 20
    assert 30 << 20 < kill["live_gross_bytes"] < 150 << 20


def test_tare_attach_states_the_kill_of_a_service(machine: Machine) -> None:
    """As a probable one: the launcher isn't the parent, and systemd removes the service's group at once."""
    service(machine, "leak", "ExecStart=/programs/leaking 128 20\nMemoryMax=60M\nMemorySwapMax=0")
    machine.ok("systemctl start leak.service; rm -f /root/attached.tare*")
    done = machine.run("tare attach $(pidof leaking) -o /root/attached.tare")
    assert "was probably killed by the out-of-memory killer" in " ".join(done.stderr.split()), done.stderr
    kill = kill_in(machine, "/root/attached.tare", "likely")
    assert kill["group"] in ("/sys/fs/cgroup/system.slice/leak.service", "/sys/fs/cgroup/system.slice")
    assert kill["limit_bytes"] == 60 << 20
    machine.run("systemctl reset-failed")


def test_triggers_of_the_control_group(machine: Machine) -> None:
    """Reclaim at memory.high: events of the limit, pressure, and the resident set."""
    service(machine, "leak", "ExecStart=/programs/leaking 128 20\nMemoryHigh=30M\nMemoryMax=200M")
    watched(machine, "leak", "--when-limit --when-pressure 5 --when-rss 25M --not-within 2s")
    for reason in ("limit", "rss", "pressure"):
        machine.until(f"ls {LEAK}/snapshots/*.{reason}.*.tare", within_s=240)
    unwatched(machine, "leak")


def test_attaching_under_yama(machine: Machine) -> None:
    machine.ok("sysctl -q kernel.yama.ptrace_scope=1")
    service(machine, "steady", "ExecStart=/programs/leaking 4 20\nUser=someone")
    machine.ok("systemctl restart steady.service")
    pid = machine.ok("systemctl show --property=MainPID --value steady.service").strip()
    done = machine.run(f"cd /tmp; HOME=/tmp/someone runuser -u someone -- tare attach {pid} -o /tmp/a.tare --for 1")
    assert done.status != 0 and done.stderr.count("\n") == 1, done.stderr
    assert "ptrace_scope" in done.stderr
    machine.ok(f"tare attach {pid} -o /root/b.tare --for 2")
    facts = json.loads(machine.ok("tare sql /root/b.tare 'select events, impossible_events from process' --json"))
    assert facts[0]["events"] > 0 and facts[0]["impossible_events"] == 0
    machine.ok("systemctl is-active steady.service && systemctl stop steady.service")
    machine.ok("sysctl -q kernel.yama.ptrace_scope=0")


PROFILE = """abi <abi/3.0>,
#include <tunables/global>
profile confined /usr/local/bin/confined {
  #include <abstractions/base>
  /usr/local/bin/confined mr,
RULES
}
"""


def confine(machine: Machine, rules: str) -> None:
    profile = PROFILE.replace("RULES", rules)
    machine.ok(f"cp /programs/leaking /usr/local/bin/confined; cat > /etc/apparmor.d/confined <<'E'\n{profile}E")
    machine.ok("apparmor_parser -r /etc/apparmor.d/confined")


def test_a_program_that_apparmor_confines(machine: Machine) -> None:
    """Without a rule for the recorder it runs on unrecorded, and a line has the reason. Two rules are enough."""
    service(machine, "confined", "ExecStart=/usr/local/bin/confined 128 5 20")
    confine(machine, "")
    done = machine.run("cd /root; timeout -s INT 20 tare run -o confined.tare -- /usr/local/bin/confined 64 1 1")
    assert "libtare-record.so' from LD_PRELOAD cannot be preloaded" in done.stderr
    assert "nothing was recorded" in done.stderr
    library = machine.ok("tare attach --library").strip()
    confine(machine, f"  {library} mr,\n  /var/lib/tare/confined/** rw,")
    watched(machine, "confined")
    machine.until("ls /var/lib/tare/confined/snapshots/*.timer.*.tare")
    machine.until("journalctl --no-pager -b -u confined | grep full")
    machine.ok("curl -sf -X POST --unix-socket /var/lib/tare/confined/socket http://tare/snapshot")
    assert machine.run("ls /var/lib/tare/confined/snapshots/*.killed.*").status != 0, "it runs"
    unwatched(machine, "confined")
    machine.ok("apparmor_parser -R /etc/apparmor.d/confined; rm /etc/apparmor.d/confined")
