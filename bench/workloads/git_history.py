"""Writes a git history for `git fast-import`, the same in every run: thousands of commits over text files. To stdout.

Files look like source text (indented lines of words), commits change some lines in a few files, as people do; so that
`git log --stat` has trees to walk, deltas to resolve and differences to count.
"""

import random
import sys

VOCABULARY = [
    f"{a}{b}"
    for a in ("get", "set", "make", "find", "list", "node", "byte", "read", "heap", "page")
    for b in ("", "_size", "_name", "_next", "_count", "_text", "_index", "_value", "_state", "_block")
]


def source_line(state: random.Random) -> str:
    return "  " * state.randrange(5) + " ".join(state.choices(VOCABULARY, k=state.randrange(2, 9))) + ";"


def main() -> None:
    commits = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    state = random.Random(20)
    files: dict[str, list[str]] = {}
    out = sys.stdout.buffer
    for number in range(commits):
        message = " ".join(state.choices(VOCABULARY, k=state.randrange(4, 12))).encode()
        out.write(b"commit refs/heads/main\n")
        out.write(b"committer A Person <person@example.org> %d +0000\n" % (1_500_000_000 + 3600 * number))
        out.write(b"data %d\n%s\n" % (len(message), message))
        touched = set(state.sample(sorted(files), k=min(len(files), state.randrange(1, 5))))
        if number < 400 or state.random() < 0.03:
            touched.add(f"source/{state.choice(VOCABULARY)}/{state.choice(VOCABULARY)}_{number}.c")
        for path in sorted(touched):
            lines = files.get(path)
            if lines is None:
                lines = files[path] = [source_line(state) for _ in range(state.randrange(30, 400))]
            for _ in range(state.randrange(1, 4)):  # an edit: some lines at one place replaced by some others
                at = state.randrange(len(lines) + 1)
                lines[at : at + state.randrange(6)] = [source_line(state) for _ in range(state.randrange(8))]
            text = ("\n".join(lines) + "\n").encode()
            out.write(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(text), text))
        out.write(b"\n")


main()
