"""Sums, sites and trees that `tare explore` shows, on recordings by hand."""

from __future__ import annotations

from handmade import Handmade
from tare.explore import course
from tare.explore.choice import Choice, When
from tare.explore.explorer import Explorer
from tare.explore.graph import Box, Graph, Sums


def made() -> Handmade:
    """Two sites: `fill` under `load`, and `grow`; a library calls back into the program."""
    made = Handmade()
    fill = made.stack("fill@a.c:5", "load@a.c:9", "main@a.c:20")
    other = made.stack("fill@a.c:6", "load@a.c:9", "main@a.c:20")
    grow = made.stack("grow@b.c:7", "main@a.c:21")
    made.blocks(fill, 100, 104, total=30, peak=20, end=2)
    made.blocks(other, 24, 24, total=10, peak=10, end=10)
    made.blocks(grow, 1000, 1000, total=4, peak=1, end=0)
    return made


GROSS = 20 * 112 + 10 * 32 + 1008


def in_time(source: Handmade) -> Handmade:
    """Ten intervals; blocks of thread 1 and 2."""
    source.tables["intervals"] = [{"interval": n, "end_ns": (n + 1) * 100} for n in range(10)]
    stack = next(s["stack_id"] for s in source.tables["stacks"] if s["depth"] == 3)
    row = {"size_id": 0, "stack_id": stack, "requested_bytes": 100, "usable_bytes": 104, "header_bytes": 8}
    source.tables["lifetimes"] = [
        {**row, "thread": 1, "allocated_interval": None, "freed_interval": 3, "blocks": 1.0},
        {**row, "thread": 1, "allocated_interval": 2, "freed_interval": 6, "blocks": 10.0},
        {**row, "thread": 2, "allocated_interval": 4, "freed_interval": None, "blocks": 100.0},
        {**row, "thread": 2, "allocated_interval": 5, "freed_interval": 5, "blocks": 1000.0},
    ]
    return source


def names(graph: Graph, box: Box) -> list[tuple[str, float]]:
    return [(graph.name(each), each.sums.now) for each in graph.below(box)]


def test_sites_by_amount_with_their_blocks() -> None:
    explorer = Explorer(made().recording())
    sites, count = explorer.sites(Choice(), 10)
    assert count == 3
    assert [(str(each.frame), each.sums.now, each.blocks) for each in sites] == [
        ("fill (a.c:5)", 20 * 112, 20),
        ("grow (b.c:7)", 1008, 1),
        ("fill (a.c:6)", 10 * 32, 10),
    ]
    assert explorer.total(Choice()).now == GROSS
    assert explorer.total(Choice(measure="slop")).now == 20 * 4
    assert explorer.total(Choice(When("total"), "blocks")).now == 44
    assert explorer.total(Choice(When("end"))).now == 2 * 112 + 10 * 32


def test_tare_is_the_sum_of_its_lenses() -> None:
    explorer = Explorer(made().recording())
    lenses = [key for key in explorer.measures if key.startswith("tare:")]
    assert lenses
    parts = [explorer.total(Choice(measure=key)).now for key in lenses]
    assert sum(parts) == explorer.total(Choice(measure="tare")).now == explorer.recording.moments["peak"].tare_bytes


def test_going_up_begins_at_the_functions_behind_operator_new() -> None:
    source = Handmade()
    source.blocks(source.stack("operator new", "take@a.c:1", "main@a.c:9"), 100, 104, total=3, peak=3)
    source.blocks(source.stack("operator new", "list@a.c:2", "main@a.c:8"), 50, 56, total=2, peak=2)
    up, _ = Explorer(source.recording()).graph(Choice(), up=True)
    assert names(up, up.root) == [("take", 3 * 112.0), ("list", 2 * 64.0)]
    assert names(up, up.below(up.root)[0]) == [("main", 3 * 112.0)]


def test_the_tree_down_and_up() -> None:
    explorer = Explorer(made().recording())
    down, _ = explorer.graph(Choice(), up=False)
    assert down.root.sums.now == GROSS
    (main,) = down.below(down.root)
    assert names(down, main) == [("load", 20 * 112 + 10 * 32), ("grow", 1008)]
    (fill,) = down.below(down.below(main)[0])
    frame = down.frame(fill)
    assert frame is not None
    assert (frame.name, frame.line) == ("fill", 5), "the line with the largest amount"
    assert names(down, fill) == []
    up, _ = explorer.graph(Choice(), up=True)
    assert names(up, up.root) == [("fill", 20 * 112 + 10 * 32), ("grow", 1008)]
    assert names(up, up.below(up.root)[0]) == [("load", 20 * 112 + 10 * 32)]


def test_a_recursion_is_one_amount_at_each_level() -> None:
    source = Handmade()
    source.blocks(source.stack("walk@a.c:1", "walk@a.c:1", "main"), 24, 24, total=1, peak=1)
    graph, _ = Explorer(source.recording()).graph(Choice(), up=False)
    box, amounts = graph.root, []
    while below := graph.below(box):
        box = below[0]
        amounts.append(box.sums.now)
    assert amounts == [32, 32, 32]


def test_a_search_has_the_stacks_with_a_match() -> None:
    explorer = Explorer(made().recording())
    graph, found = explorer.graph(Choice(search="LOAD"), up=False)
    assert found is not None
    assert found.amount == 20 * 112 + 10 * 32
    box = graph.path_to(found.functions)
    assert box is not None
    assert graph.name(box) == "load"
    assert graph.path_to(found.functions, box) is None
    assert [str(each.frame) for each in explorer.sites(Choice(search="b[.]c"), 10)[0]] == ["grow (b.c:7)"]


def test_times_ranges_and_threads() -> None:
    explorer = Explorer(in_time(made()).recording())
    amounts = {
        When("range", "live", -1, 4): 110,
        When("range", "born", 1, 4): 110,
        When("range", "kept", 1, 6): 100,
        When("range", "freed", 2, 6): 1011,
        When("end"): 100,
        When("total"): 1110,
    }
    for when, blocks in amounts.items():
        parts = [explorer.total(Choice(when, "blocks", thread=thread)).now for thread in (1, 2)]
        assert sum(parts) == blocks, when
        if when.moment == "range":
            assert explorer.total(Choice(when, "blocks")).now == blocks
            assert explorer.total(Choice(when)).now == blocks * 112
    assert explorer.threads() == [(2, 1100.0), (1, 10.0)]


def test_the_course_has_the_sums_at_the_ends_of_intervals() -> None:
    steps = course.by_intervals(in_time(made()).recording())
    assert [step.blocks for step in steps] == [1, 1, 11, 10, 110, 110, 100, 100, 100, 100]
    assert [step.allocations for step in steps] == [0, 0, 10, 0, 100, 1000, 0, 0, 0, 0]
    assert steps[4].gross_bytes == 110 * 112
    for width in (1, 4, 10, 35):
        groups = course.columns(steps, width)
        assert len(groups) == width
        assert {step for group in groups for step in group} == set(steps)


def test_a_module_has_its_own_allocations() -> None:
    explorer = Explorer(made().recording())
    assert explorer.modules(Choice()) == [("/bin/app", GROSS)]
    assert explorer.total(Choice(module="/bin/app")).now == GROSS
    assert explorer.total(Choice(module="/it's not there")).now == 0


def test_a_baseline_is_matched_by_function() -> None:
    before = Handmade()
    before.blocks(before.stack("fill@old/a.c:3", "load@old/a.c:4", "main@old/a.c:5"), 100, 104, total=5, peak=5, end=5)
    before.blocks(before.stack("gone@old/a.c:8", "main@old/a.c:5"), 24, 24, total=1, peak=1, end=1)
    explorer = Explorer(made().recording(), before.recording())
    sites, _ = explorer.sites(Choice(), 10)
    assert {each.frame.name: each.sums for each in sites} == {
        "fill": Sums(20 * 112 + 10 * 32, 5 * 112),
        "grow": Sums(1008, 0),
        "gone": Sums(0, 32),
    }
    assert sites[0].frame.line == 5, "as it is now"
    graph, _ = explorer.graph(Choice(), up=False)
    (main,) = graph.below(graph.root)
    assert main.sums == Sums(GROSS, 5 * 112 + 32)
    assert [graph.name(each) for each in graph.below(main)] == ["load", "grow", "gone"]


def test_own_code_has_the_amounts_of_foreign_code() -> None:
    source = made()
    source._process["exe"] = "/home/app"
    source.tables["modules"][0]["path"] = "/usr/lib/libx.so"
    graph, _ = Explorer(source.recording()).graph(Choice(own_only=True), up=False)
    assert graph.root.sums.now == GROSS
