"""Prints docs/lenses.md from the lenses, so that reports and catalogue have the same texts.

PYTHONPATH=python python3 tools/lens_catalogue.py > docs/lenses.md
"""

from __future__ import annotations

from tare.lenses import load_all

WEIGHTS = {
    "tare": "tare (its bytes are subtracted from gross, each byte once)",
    "potential": "potential (shown beside the balance, not subtracted)",
}
SAMPLING = {
    "exact": "exact",
    "scaled": "sums are scaled",
    "unavailable": "not available",
}
HEAD = """\
# The lenses

A lens is one question about a recording. Each lens is an SQL query over the tables of `tare schema`, in `python/tare/lenses/`, with the
texts below. Bytes are granted to tare lenses in this order, so that each byte counts once. Thresholds decide only which findings are
printed; they never change net.
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
