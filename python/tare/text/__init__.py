"""Numbers, sizes and characters for people; the terminal."""
