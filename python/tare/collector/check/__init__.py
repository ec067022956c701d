"""What `tare gc check` does: reads C++ sources as a compiler does and finds what the collector can't see."""
