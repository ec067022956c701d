"""Types of blocks and their layouts."""
