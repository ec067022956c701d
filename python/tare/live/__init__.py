"""Recordings in progress: requests to the launcher, and its tables."""
