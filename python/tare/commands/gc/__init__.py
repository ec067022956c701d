"""Verbs `tare gc ...`, a file each."""
