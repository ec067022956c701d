"""Reports: the same facts as text for a terminal and as JSON for scripts."""
