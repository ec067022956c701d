"""The block that libstdc++ reserves for exceptions: a part of the queries of lenses for blocks that nobody uses."""

# 72,704 bytes (73,728 from version 13 on), allocated when the library is loaded and left to the kernel until memory ends. z: site_sizes.
NOT_EMERGENCY_POOL = "not (z.total_blocks = 1 and z.requested_bytes in (72704, 73728))"
