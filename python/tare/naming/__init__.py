"""Names of frames, C++ names in short form, suppressed leaks."""
