"""Prints docs/lenses.md from the lenses themselves, so that the words a report uses and the catalogue's are the same.

PYTHONPATH=python python3 tools/lens_catalogue.py > docs/lenses.md
"""

from __future__ import annotations

from tare.lenses import load_all

WEIGHTS = {
    "tare": "its bytes are tare: they leave net, no byte twice",
    "potential": "potential: shown beside the tare, never in it",
}
SAMPLING = {
    "exact": "exact",
    "scaled": "sums are scaled back",
    "unavailable": "not available",
}
HEAD = """\
# The lenses

A lens asks one question of a recording. Each is one SQL query over the tables of `tare schema`, in `python/tare/lenses/`, with the
words below. Bytes are granted to tare lenses in this order, so that none is counted twice; thresholds only decide
what is shown, and never change net.
"""


def catalogue() -> str:
    parts = [HEAD]
    for lens in load_all():
        parts.append(
            f"## {lens.name}\n\n"
            f"**{lens.question}** {lens.why}\n\n"
            f"- Weight: {WEIGHTS[lens.weight]}.\n"
            f"- Shown: {lens.threshold}.\n"
            f"- False positives: {lens.false_positives}\n"
            f"- Remedy: {lens.remedy}\n"
            f"- Under sampling: {SAMPLING[lens.sampling]}. Reads: {', '.join(lens.tables)}.\n"
            + (f"- Before and after: [guide/{lens.guide}](../guide/{lens.guide}/README.md).\n" if lens.guide else "")
        )
    return "\n".join(parts)


if __name__ == "__main__":
    print(catalogue(), end="")
