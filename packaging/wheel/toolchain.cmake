# Compiles with this machine's gcc against the headers and libraries of an older Debian in TARE_SYSROOT (build.sh), so that the result
# runs with that Debian's glibc. The C++ library is linked statically: the old one lacks functions of C++20.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TARE_SYSROOT)
set(CMAKE_C_COMPILER gcc)
set(CMAKE_CXX_COMPILER g++)
set(CMAKE_SYSROOT ${TARE_SYSROOT})

execute_process(COMMAND gcc -print-multiarch OUTPUT_VARIABLE triplet OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND g++ -dumpversion OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
set(CMAKE_LIBRARY_ARCHITECTURE ${triplet})
set(CMAKE_CXX_FLAGS_INIT "-nostdinc++ -isystem /usr/include/c++/${version} -isystem /usr/include/${triplet}/c++/${version}")

# gcc searches its own folder before the sysroot, and finds this machine's glibc from there. -B and -L come first.
set(libraries ${TARE_SYSROOT}/usr/lib/${triplet})
set(link_flags "-B${libraries} -L${libraries} -L${TARE_SYSROOT}/lib/${triplet} -static-libstdc++")
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "${link_flags}")
endforeach()

# pkg-config finds libdw and zstd of the sysroot alone.
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${TARE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# An object, not an archive: the linker reads libstdc++.a after all archives.
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT ${TARE_SYSROOT}/old_glibc.o)
