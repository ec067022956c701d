"""A store: what was added is there once, whatever happens to the adder."""

import json
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from fleet_made import add, facts, start
from tare.errors import TareError
from tare.fleet import layout, upkeep
from tare.fleet.store import Store, condition


def sums(store: Path) -> list[tuple[object, ...]]:
    return Store(store).rows(
        "select r.key, s.site, s.peak_gross_bytes from site_sums s join recordings r using (recording) order by all"
    )


def keys(store: Path) -> list[str]:
    return [entry["key"] for entry in Store(store).all_entries]


def test_a_recording_is_added_once(tmp_path: Path) -> None:
    assert add(tmp_path / "s", "a", facts({1: 100.0}))
    assert not add(tmp_path / "s", "a", facts({1: 100.0}))
    assert sums(tmp_path / "s") == [("a", 1, 100.0)]


def test_a_site_with_two_lines_has_the_same_one_in_each_order(tmp_path: Path) -> None:
    """Recordings of a build whose functions allocate at several lines."""
    for order in ("ab", "ba"):
        store = tmp_path / order
        for key in order:
            made = facts({1: 10.0})
            made.rows["sites"][:] = [(1, "ab" * 20, "f", f"{key}.c:1", "/bin/app", f"f ({key}.c:1)\nmain")]
            add(store, key, made, bucket=0)
        sql = "select function, place, stack from sites"
        assert Store(store).rows(sql) == [("f", "a.c:1", "f (a.c:1)\nmain")]
        upkeep.compact(store)
        assert Store(store).rows(sql) == [("f", "a.c:1", "f (a.c:1)\nmain")]


@pytest.mark.slow
@pytest.mark.parametrize("compacted", [False, True])
def test_an_adder_killed_at_any_step_leaves_all_or_nothing(tmp_path: Path, compacted: bool) -> None:
    step, absent, present = 1, 0, 0
    while True:
        store = tmp_path / str(step)
        add(store, "old", facts({1: 7.0}))
        if compacted:
            upkeep.compact(store)
        status = start("add", store, "new", step).wait(60)
        expected = [("new", 1, 100.0), ("new", 2, 50.0)] if "new" in keys(store) else []
        assert sums(store) == [*expected, ("old", 1, 7.0)]
        assert upkeep.verify(store)[1] == []
        if status == 0:
            assert expected
            break
        assert status == -signal.SIGKILL
        absent, present = absent + (not expected), present + bool(expected)
        add(store, "new", facts({1: 100.0, 2: 50.0}))
        assert sums(store) == [("new", 1, 100.0), ("new", 2, 50.0), ("old", 1, 7.0)]
        step += 4 if compacted else 1
    assert absent >= (2 if compacted else 8)  # three data files, each flushed and renamed, and the entry
    assert present >= 1 or compacted


@pytest.mark.slow
def test_a_compaction_killed_at_any_step_changes_no_answer(tmp_path: Path) -> None:
    step = 1
    while True:
        store = tmp_path / str(step)
        for key in "abc":
            add(store, key, facts({1: 100.0, 2: 50.0}), bucket=5)
        upkeep.remove(store, [Store(store).all_entries[0]])
        before = sums(store)
        status = start("compact", store, "", step).wait(60)
        assert sums(store) == before
        assert upkeep.verify(store)[1] == []
        if status == 0:
            break
        upkeep.compact(store)
        assert sums(store) == before
        step += 2
    assert step > 10


def test_adders_at_once_lose_nothing(tmp_path: Path) -> None:
    store = tmp_path / "s"
    adders = [start("add", store, "a,b,c,d"), start("add", store, "d,c,b,a"), start("add", store, "e,f")]
    assert [adder.wait(60) for adder in adders] == [0, 0, 0]
    assert sorted(keys(store)) == list("abcdef")
    assert sums(store) == [(key, site, size) for key in "abcdef" for site, size in ((1, 100.0), (2, 50.0))]


def test_a_store_that_another_process_makes_meanwhile_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, real, added = tmp_path / "s", Path.iterdir, []
    store.mkdir()

    def listed(folder: Path) -> Iterator[Path]:
        if folder == store and not added:
            added.append(start("add", store, "a").wait(60))
        return real(folder)

    monkeypatch.setattr(Path, "iterdir", listed)
    add(store, "b", facts({1: 100.0}))
    assert added == [0]
    assert sorted(keys(store)) == ["a", "b"]


def test_a_truncated_file_is_found(tmp_path: Path) -> None:
    add(tmp_path, "a", facts({1: 100.0}))
    (file,) = tmp_path.glob("table=site_sums/*/*")
    file.write_bytes(file.read_bytes()[:-100])
    files, (damage,) = upkeep.verify(tmp_path)
    assert (files, damage.recordings) == (3, ["/r/a.tare"])
    assert damage.file.startswith("table=site_sums")
    with pytest.raises(TareError, match="tare fleet verify") as raised:
        sums(tmp_path)
    assert raised.value.kind == "Corrupt"


def test_a_missing_file_and_a_damaged_entry_are_found(tmp_path: Path) -> None:
    add(tmp_path, "a", facts({1: 100.0}))
    (file,) = tmp_path.glob("table=claims/*/*")
    file.unlink()
    assert [each.reason for each in upkeep.verify(tmp_path)[1]] == ["is missing"]
    (tmp_path / "recordings/a.json").write_text("{")
    (damage,) = upkeep.verify(tmp_path)[1]  # files that only the damaged entry names aren't needed
    assert damage == ("recordings/a.json", "isn't readable: delete it, and add the recording again", [])


def test_a_full_disk_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    add(tmp_path, "a", facts({1: 100.0}))
    before = sums(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        for most in (0, 100, 1000):  # within a data file, and within the entry
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, limits[1]))
            try:
                with pytest.raises(TareError, match="the store is as before"):
                    add(tmp_path, "b", facts(dict.fromkeys(range(1000), 1.0)))
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            assert sums(tmp_path) == before
    finally:
        signal.signal(signal.SIGXFSZ, ignored)
    assert list((tmp_path / "part").iterdir()) == []
    assert add(tmp_path, "b", facts({1: 1.0}))


def test_removed_recordings_are_gone_and_can_come_back(tmp_path: Path) -> None:
    for key in "ab":
        add(tmp_path, key, facts({1: 100.0}))
    upkeep.compact(tmp_path)
    upkeep.remove(tmp_path, [entry for entry in Store(tmp_path).all_entries if entry["key"] == "a"])
    assert sums(tmp_path) == [("b", 1, 100.0)]
    add(tmp_path, "a", facts({1: 9.0}))
    assert sums(tmp_path) == [("a", 1, 9.0), ("b", 1, 100.0)]
    upkeep.compact(tmp_path)
    assert sums(tmp_path) == [("a", 1, 9.0), ("b", 1, 100.0)]


def test_compact_merges_a_bucket_and_names_a_build_once(tmp_path: Path) -> None:
    for key in range(8):
        add(tmp_path, f"{key}", facts({1: 100.0, 2: float(key)}), bucket=key % 2)
    before = sums(tmp_path)
    upkeep.compact(tmp_path)
    store = Store(tmp_path)
    assert len(store.files("site_sums")) == 2
    assert len(store.files("sites")) == 1
    assert sums(tmp_path) == before
    assert store.rows("select site, function from sites order by all") == [(1, "f1"), (2, "f2")]


def test_a_folder_may_have_the_signs_of_patterns_in_its_name(tmp_path: Path) -> None:
    store = tmp_path / "it's [1] a* {b}?"
    for key in "abc":
        add(store, key, facts({1: 100.0}), bucket=0)
    assert sums(store) == [(key, 1, 100.0) for key in "abc"]
    upkeep.compact(store)
    assert sums(store) == [(key, 1, 100.0) for key in "abc"]
    assert upkeep.verify(store)[1] == []


def test_retain_keeps_the_newest_builds(tmp_path: Path) -> None:
    for start_ns, build in enumerate(("1", "2", "2", "3")):
        add(tmp_path, f"{start_ns}", facts({1: 1.0}, started_ns=start_ns), build)
    assert [e["key"] for e in upkeep.expired(Store(tmp_path), days=None, builds=2)] == ["0"]
    assert len(upkeep.expired(Store(tmp_path), days=1, builds=None)) == 4


def test_conditions_select_by_field_and_label(tmp_path: Path) -> None:
    add(tmp_path, "a", facts({1: 1.0}), "1.4", canary="yes")
    add(tmp_path, "b", facts({1: 1.0}), "1.5")
    assert [e["key"] for e in Store(tmp_path, [condition("build=1.*"), condition("canary=yes")]).entries] == ["a"]
    assert [e["key"] for e in Store(tmp_path, [condition("build=1.5")]).entries] == ["b"]
    with pytest.raises(TareError, match=r"no recording with build=9"):
        _ = Store(tmp_path, [condition("build=9")]).entries


def test_a_column_that_files_lack_is_null(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tare.fleet import facts as of

    add(tmp_path, "a", facts({1: 100.0}))
    monkeypatch.setitem(of.TABLES, "site_sums", of.TABLES["site_sums"] + ", later double")
    assert Store(tmp_path).rows("select site, later from site_sums") == [(1, None)]


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    add(tmp_path, "a", facts({1: 100.0}))
    (tmp_path / layout.MARK).write_text(json.dumps({"schema": layout.SCHEMA_VERSION + 1}))
    with pytest.raises(TareError, match="update Tare"):
        Store(tmp_path)


def test_a_folder_with_other_files_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(TareError, match="isn't a store"):
        add(tmp_path, "a", facts({1: 100.0}))
    assert [each.name for each in tmp_path.iterdir()] == ["notes.txt"]
