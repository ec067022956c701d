"""Remedies of findings performed on the recording's own calls, beside the unchanged calls."""
