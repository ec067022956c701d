"""Control groups of version 1 and 2: finding a process' group, its counters, and verdicts about kills."""

from __future__ import annotations

from machine import Machine
from tare.watch import oom
from tare.watch.pressure import Groups


def groups_of(machine: Machine, given: str = "") -> Groups:
    return Groups(str(machine.root), given)


def test_version_2(machine: Machine) -> None:
    machine.group("app/web", oom_kills=3, high=5, limit="67108864", pressure="12.50")
    machine.start(7, group="app/web")
    groups = groups_of(machine)
    folder = groups.of_process(7)
    assert folder == "/sys/fs/cgroup/app/web"
    assert groups.events(folder) == (3, 5)
    assert groups.limit_bytes(folder) == 64 << 20
    assert groups.pressure(folder) == 12.5
    assert groups.parents(folder) == [folder, "/sys/fs/cgroup/app", "/sys/fs/cgroup"]


def test_version_1(machine: Machine) -> None:
    machine.use_version(1)
    folder = machine.cgroups / "app"
    folder.mkdir()
    (folder / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
    (folder / "memory.failcnt").write_text("41\n")
    (folder / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    machine.start(7)
    (machine.proc / "7/cgroup").write_text("9:name=systemd:/x\n4:memory,hugetlb:/app\n0::/x\n")
    groups = groups_of(machine)
    path = groups.of_process(7)
    assert path == "/sys/fs/cgroup/app"
    assert groups.events(path) == (2, 41)
    assert groups.limit_bytes(path) is None
    assert groups.parents(path) == [path]  # counters of groups above don't count its kills


def test_pressure_of_the_machine_if_the_group_has_none(machine: Machine) -> None:
    machine.group("app")
    assert groups_of(machine).pressure("/sys/fs/cgroup/app") is None
    (machine.proc / "pressure").mkdir()
    (machine.proc / "pressure/memory").write_text("some avg10=3.25 avg60=0.00 avg300=0.00 total=1\n")
    assert groups_of(machine).pressure("/sys/fs/cgroup/app") == 3.25


def test_a_group_of_another_namespace_isnt_guessed(machine: Machine) -> None:
    machine.group("sibling")
    machine.start(7)
    (machine.proc / "7/cgroup").write_text("0::/../sibling\n")
    assert groups_of(machine).of_process(7) == ""
    assert groups_of(machine, "/sys/fs/cgroup/sibling").of_process(7) == "/sys/fs/cgroup/sibling"


def test_a_container_sees_its_groups_below_its_mount(machine: Machine) -> None:
    (machine.proc / "self/mountinfo").write_text("30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n")
    machine.group("")
    machine.start(7, group="docker/abc")
    assert groups_of(machine).of_process(7) == "/sys/fs/cgroup"


def judged(machine: Machine, group: str, change: dict[str, int], deaths: int = 1) -> oom.Verdict:
    """After the counters of some groups changed."""
    groups = groups_of(machine)
    before = oom.counters(groups, f"/sys/fs/cgroup/{group}")
    for name, kills in change.items():
        if kills < 0:
            for path in (machine.cgroups / name).iterdir():
                path.unlink()
            (machine.cgroups / name).rmdir()
        else:
            machine.group(name, oom_kills=kills)
    return oom.judge(groups, f"/sys/fs/cgroup/{group}", before, {f"/sys/fs/cgroup/{group}": deaths})


def test_a_counted_kill_of_the_own_group_is_certain(machine: Machine) -> None:
    machine.group("app", oom_kills=3, limit="67108864")
    verdict = judged(machine, "app", {"app": 4})
    assert verdict == ("yes", "/sys/fs/cgroup/app", 3, 4, 1, 64 << 20)


def test_no_counted_kill_is_none(machine: Machine) -> None:
    machine.group("app", oom_kills=3)
    assert judged(machine, "app", {}).verdict == "no"


def test_one_kill_and_two_deaths_are_likely(machine: Machine) -> None:
    machine.group("app", oom_kills=3)
    assert judged(machine, "app", {"app": 4}, deaths=2).verdict == "likely"
    assert judged(machine, "app", {"app": 6}, deaths=2).verdict == "yes"


def test_a_group_that_is_gone_leaves_the_one_above(machine: Machine) -> None:
    machine.group("slice", oom_kills=1)
    machine.group("slice/app", oom_kills=1)
    verdict = judged(machine, "slice/app", {"slice/app": -1, "slice": 2})
    assert (verdict.verdict, verdict.group, verdict.before, verdict.after) == ("likely", "/sys/fs/cgroup/slice", 1, 2)
    machine.group("slice/app", oom_kills=1)
    assert judged(machine, "slice/app", {"slice/app": -1}).verdict == "no"


def test_a_group_made_anew_counts_as_gone(machine: Machine) -> None:
    machine.group("app", oom_kills=3)
    assert judged(machine, "app", {"app": 0}).group == ""  # the machine's counter didn't rise either
    assert judged(machine, "app", {"app": 0}).verdict == "no"


def test_a_group_made_anew_without_a_kill_before_counts_as_gone(machine: Machine) -> None:
    """A service that systemd restarts: its new group counts from 0, as the old one did before its kill."""
    machine.group("slice", oom_kills=0)
    folder = str(machine.group("slice/app", oom_kills=0)).removeprefix(str(machine.root))
    groups = groups_of(machine)
    before = oom.counters(groups, folder)
    machine.group("slice/app", oom_kills=1)
    dying = oom.counters(groups, folder)
    (machine.cgroups / "slice/app").rename(machine.cgroups / "old")  # its inode stays in use
    machine.group("slice/app", oom_kills=0)
    machine.group("slice", oom_kills=1)
    verdict = oom.judge(groups, folder, before, {folder: 1})
    assert (verdict.verdict, verdict.group) == ("likely", "/sys/fs/cgroup/slice")
    verdict = oom.judge(groups, folder, before, {folder: 1}, dying)
    assert (verdict.verdict, verdict.group, verdict.before, verdict.after) == ("yes", folder, 0, 1)


def test_only_the_machines_counter_rose(machine: Machine) -> None:
    groups = groups_of(machine)
    before = oom.counters(groups, "")
    (machine.proc / "vmstat").write_text("oom_kill 6\n")
    assert oom.judge(groups, "", before, {"": 1})[:4] == ("unknown", "", 5, 6)
    (machine.proc / "vmstat").unlink()
    assert oom.judge(groups, "", before, {"": 1})[:4] == ("unknown", "", None, None)


def test_a_process_that_no_round_has_seen(machine: Machine) -> None:
    """Its group is unknown: the machine's counter can exclude a kill, and a kill in the others' group makes its own probable."""
    machine.group("slice", oom_kills=4)
    machine.group("slice/app", oom_kills=0)
    groups = groups_of(machine)
    before = oom.counters(groups, "/sys/fs/cgroup/slice/app")
    assert oom.judge_unseen(groups, before, {"": 1})[:4] == ("no", "", 5, 5)
    (machine.proc / "vmstat").write_text("oom_kill 6\n")
    assert oom.judge_unseen(groups, before, {"": 1})[:4] == ("unknown", "", 5, 6)
    machine.group("slice", oom_kills=5)
    assert oom.judge_unseen(groups, before, {"": 1})[:4] == ("likely", "/sys/fs/cgroup/slice", 4, 5)
    (machine.proc / "vmstat").unlink()
    assert oom.judge_unseen(groups, oom.counters(groups, ""), {"": 1})[:4] == ("unknown", "", None, None)


def test_a_group_without_a_memory_controller_leaves_the_one_above(machine: Machine) -> None:
    machine.group("user", oom_kills=1)
    (machine.cgroups / "user/session").mkdir()
    folder = "/sys/fs/cgroup/user/session"
    groups = groups_of(machine)
    before = oom.counters(groups, folder)
    machine.group("user", oom_kills=2)
    assert oom.judge(groups, folder, before, {folder: 1})[:4] == ("likely", "/sys/fs/cgroup/user", 1, 2)
