"""Reads a .tare file whole. Written from nothing but src/trace/file/FORMAT.md: what this can't read, the document doesn't say."""
