"""The snapshots that stand for the peak and for the end in lenses that read blocks: a part of their queries."""

# The last candidate for the peak may have far fewer of its blocks than the snapshot at the exit: of ruby's peak 4 and 71 %, of java's 15
# and 98 %. So the one with more of the peak's blocks stands for it; a candidate is preferred until the exit has 5 % more, because it is
# nearer to the peak. Blocks count by shape, as many as the peak has: which ones are the same isn't recorded.
# A small or short program has no candidate. The ledger grants no more of a snapshot than was live at the peak.
_NEARER = 1.05
HELD = """held as (
  select s.snapshot, s.kind, coalesce(sum(least(b.blocks, z.peak_blocks) * (z.usable_bytes + z.header_bytes)), 0) as bytes
  from snapshots s
  left join (select snapshot, size_id, sum(blocks) as blocks from snapshot_sizes group by snapshot, size_id) b on b.snapshot = s.snapshot
  left join site_sizes z on z.size_id = b.size_id
  where s.kind in ('peak', 'exit') group by s.snapshot, s.kind
)"""
_SCORE = f"bytes * case when kind = 'peak' then {_NEARER} else 1 end"
NEAREST = (
    f"{HELD},\nnearest as (select max_by(snapshot, {_SCORE}) as snapshot, max_by(bytes, {_SCORE}) as bytes from held)"
)
USED = f"""{NEAREST},
used as (
  select snapshot, kind from held where kind = 'exit'
  union all
  select snapshot, 'peak' as kind from nearest where snapshot is not null
)"""

# Number of blocks of a shape in the snapshot that stands for the peak. Follows USED in a `with`.
HAD = """had as (
  select b.size_id, sum(b.blocks) as blocks from snapshot_sizes b join used u on u.snapshot = b.snapshot where u.kind = 'peak' group by b.size_id
)"""
# From this number of blocks on, or from half of the shape's, the blocks of a shape in a snapshot stand for all its
# blocks at the peak.
ENOUGH_BLOCKS = 20


def to_peak(had: str = "h.blocks", peak: str = "z.peak_blocks") -> str:
    """SQL: the factor from blocks in the snapshot to blocks at the peak; 1 if the snapshot has too few. h: had, z: site_sizes."""
    return f"case when {had} > 0 and ({had} >= {ENOUGH_BLOCKS} or 2 * {had} >= {peak}) then 1.0 * {peak} / {had} else 1 end"


def scaled_from(seen: float, amount: float, text: str) -> str:
    """`text` as a part of a sentence, if the amount at the peak was scaled from that in the snapshot."""
    return f", scaled from {text} in the snapshot" if amount > 1.05 * seen > 0 else ""
