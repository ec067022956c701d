"""Verbs `tare fleet ...`, a file each."""
