"""The checks of `tare gc check`: reads C++ sources as a compiler does and finds places that the collector can't see."""
