# Compiles for aarch64 with this machine's clang against Debian 11's headers and libraries for arm64 in TARE_SYSROOT. build.sh has put
# gcc 12's C++ library there, which is linked statically, and Python's headers.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TARE_SYSROOT)
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/aarch64.cmake)
foreach(kind EXE SHARED MODULE)
  string(APPEND CMAKE_${kind}_LINKER_FLAGS_INIT " -static-libstdc++")
endforeach()
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT ${TARE_SYSROOT}/old_glibc.o)
# scikit-build-core names the folder of the Python that it runs in.
set(Python_INCLUDE_DIR ${TARE_SYSROOT}/usr/include/python3.11)
