"""Which code is the program's own, and which is of the system's or of the compiler's libraries."""

from __future__ import annotations

from tare import _core

# Code below these paths isn't the program's, unless the program itself lies there.
_SYSTEM = ("/usr/", "/lib/", "/lib64/", "/lib32/")
_MANAGED = ("", _core.PYTHON_MODULE)  # generated code has no module
_TOOLCHAIN = ("/include/c++/", "/sysdeps/", "/rustc/", "/csu/")


def is_own(executable: str, module: str, file: str, function: str) -> bool:
    """Of the program and of libraries outside of the system's folders; inlined functions of the C++ library aren't. Python, JavaScript
    and Java: not of their own libraries and installed packages.
    """
    if module in _MANAGED:
        return _core.is_own_managed(module, file, function)
    if any(part in file for part in _TOOLCHAIN):
        return False
    return module == executable or not module.startswith(_SYSTEM)


def is_system_file(file: str) -> bool:
    """A source file of the system: headers, or an interpreter's own library."""
    return not file or file.startswith(_SYSTEM)
