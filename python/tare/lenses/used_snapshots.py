"""The snapshots that stand for the peak and for the end in lenses that read blocks: a part of their queries."""

# A small or short program has no snapshot near its peak: then the snapshot at the exit stands for it too, and the
# ledger grants no more of it than was live at the peak.
USED = """used as (
  select snapshot, kind from snapshots where kind in ('peak', 'exit')
  union all
  select snapshot, 'peak' as kind from snapshots where kind = 'exit' and (select count(*) from snapshots where kind = 'peak') = 0
)"""

# Number of blocks of a shape in the snapshot that stands for the peak. Follows USED in a `with`.
HAD = """had as (
  select b.size_id, sum(b.blocks) as blocks from snapshot_sizes b join used u on u.snapshot = b.snapshot where u.kind = 'peak' group by b.size_id
)"""
# From this number of blocks on, or from half of the shape's, the blocks of a shape in a snapshot stand for all its
# blocks at the peak.
_ENOUGH_BLOCKS = 20


def to_peak(had: str = "h.blocks", peak: str = "z.peak_blocks") -> str:
    """SQL: the factor from blocks in the snapshot to blocks at the peak; 1 if the snapshot has too few. h: had, z: site_sizes."""
    return f"case when {had} > 0 and ({had} >= {_ENOUGH_BLOCKS} or 2 * {had} >= {peak}) then 1.0 * {peak} / {had} else 1 end"


def scaled_from(seen: float, amount: float, text: str) -> str:
    """`text` as a part of a sentence, if the amount at the peak was scaled from that in the snapshot."""
    return f", scaled from {text} in the snapshot" if amount > 1.05 * seen > 0 else ""
