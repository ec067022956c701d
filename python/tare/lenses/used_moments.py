"""Which moments stand for the peak and for the end in the lenses that look into blocks: a part of their queries."""

# A small or short program has no candidate for its peak: then what was seen at the exit stands for it too, and the ledger
# grants no more of it than was live at the peak.
USED = """used as (
  select moment, kind from moments where kind in ('peak', 'exit')
  union all
  select moment, 'peak' as kind from moments where kind = 'exit' and (select count(*) from moments where kind = 'peak') = 0
)"""
