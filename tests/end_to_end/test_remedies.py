"""Remedies of real programs in other languages than C++: the change that their developers can make, and no class of C++."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Tare

CPP = ("tare::", "tare/", "std::", "AtomTable", "TextStream")
PYTHON3 = "/usr/bin/python3"
PYTHON = """
class Event:
    def __init__(self, number, name):
        self.number = number
        self.name = name

def load(count):
    return [Event(number, "kind-%d" % (number % 20)) for number in range(count)]

events = load(30000)
"""
C = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node { struct node *next; char *name; };
static struct node *list;

static void add(int number) {
  char name[32];
  sprintf(name, "a name of some length %d", number % 30);
  struct node *node = malloc(sizeof *node);
  node->name = strdup(name);
  node->next = list;
  list = node;
}

static long churn(int count) {
  long sum = 0;
  for (int i = 0; i < count; i++) {
    char *text = malloc(40 + i % 8);
    sum += sprintf(text, "%d", i);
    free(text);
  }
  return sum;
}

int main(void) {
  for (int i = 0; i < 20000; i++) add(i);
  return churn(50000) == 0;
}
"""
RUST = """
fn grow(count: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::new();
    for number in 0..count {
        bytes.reserve_exact(7);
        bytes.extend_from_slice(format!("{:06}\\n", number).as_bytes());
    }
    bytes
}

fn main() {
    let words: Vec<String> = (0..40000).map(|number| format!("some-word-{}", number % 100)).collect();
    println!("{} {}", words.len(), grow(20000).len());
}
"""


JAVASCRIPT = """
const kept = [];
function keep(count) {
  for (let i = 0; i < count; i++) kept.push(Buffer.allocUnsafeSlow(3001).fill("name " + (i % 3)));
}
keep(2000);
console.log(process.pid);
"""


def remedies(tare: Tare, *command: str | Path, **environment: str) -> dict[str, str]:
    """Of the findings, by lens and function."""
    trace = tare.record(*command, options=("-q", "--content"), env=environment)
    return {f"{each['lens']} {each['function']}": each["remedy"] for each in tare.report(trace)["findings"]}


def in_no_cpp(found: dict[str, str], *functions: str) -> None:
    for site, remedy in found.items():
        if site.split(" ", 1)[1] in functions:
            assert not [word for word in CPP if word in remedy], (site, remedy)


@pytest.mark.skipif(not Path(PYTHON3).exists(), reason="no interpreter of the system here")
def test_python(tare: Tare) -> None:
    script = tare.folder / "events.py"
    script.write_text(PYTHON)
    found = remedies(tare, PYTHON3, script, PYTHONMALLOC="malloc")
    assert any("__slots__" in remedy for remedy in found.values()), found
    in_no_cpp(found, "<listcomp>", "load", "Event.__init__", "<module>")


def test_c(tare: Tare) -> None:
    source, program = tare.folder / "words.c", tare.folder / "words"
    source.write_text(C)
    subprocess.run(["gcc", "-g", "-O1", source, "-o", program], check=True)
    found = remedies(tare, program)
    assert found["churn churn"].startswith(
        "Use an array of 48 bytes on the stack or in the struct, and call malloc only for more"
    )
    assert found["duplicates add"].startswith("Intern them: keep each text once in a hash table")
    assert "(obstack)" in found["headers add"]
    in_no_cpp(found, "churn", "add")


@pytest.mark.skipif(shutil.which("rustc") is None, reason="no rustc here")
def test_rust(tare: Tare) -> None:
    source, program = tare.folder / "main.rs", tare.folder / "main"
    source.write_text(RUST)
    subprocess.run(["rustc", "-g", "-O", "-o", program, source], check=True)
    found = remedies(tare, program)
    assert found["growth main::grow"].startswith("Use reserve(), which doubles, instead of reserve_exact()")
    assert any("Rc<str>" in remedy for site, remedy in found.items() if site.startswith("duplicates ")), found
    in_no_cpp(found, *(site.split(" ", 1)[1] for site in found if "main::" in site))


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
def test_javascript(tare: Tare) -> None:
    script = tare.folder / "app.js"
    script.write_text(JAVASCRIPT)
    found = remedies(tare, "node", "--perf-basic-prof", "--interpreted-frames-native-stack", script)
    for path in Path("/tmp").glob("perf-*.map"):
        if str(script) in path.read_text(errors="replace"):
            path.unlink()
    assert "subarray()" in found["duplicates keep"]
    in_no_cpp(found, "keep")
