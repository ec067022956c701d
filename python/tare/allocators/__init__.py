"""Descriptions of foreign allocators: TOML files here, and a user's own; see docs/allocators.md."""
