"""Recorded calls performed by other allocators, and models of their size classes."""
