"""Tools for users of the library's garbage collector."""
