"""The tables of a recording, and the databases that hold them."""
