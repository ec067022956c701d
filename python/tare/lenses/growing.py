"""Which stacks grow buffers: a part of the queries of lenses for which those are another matter than blocks of one size."""


# At least a quarter of its blocks are steps of growth. Fewer are those that shrink a block to fit when it is finished
# (CPython's strings), and grow one now and then.
def _growing(also: str = "true") -> str:
    return f"""growing as (
  select c.stack_id from (select stack_id, sum(steps) as steps, sum(grown_blocks) as grown from growth group by stack_id) c
  join (select stack_id, sum(total_blocks) as blocks from site_sizes group by stack_id) b on b.stack_id = c.stack_id
  where 4 * c.steps >= b.blocks and {also}
)"""


GROWING = _growing()
# With two steps a buffer on average: redis copies an argument of a command once, into a larger object of fixed size.
GROWING_OFTEN = _growing("c.steps >= 2 * c.grown")
