# Installs the library: archive, headers, a package for find_package(tare) and one for pkg-config. Component "library",
# so that the Python wheel, which takes component "python", stays as it is.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(TARE_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/tare)
install(TARGETS tare EXPORT tare-targets COMPONENT library
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(other_parts variant gc)
list(REMOVE_ITEM other_parts ${TARE_PARTS})
set(without_others)
foreach(part IN LISTS other_parts)
  list(APPEND without_others PATTERN ${part} EXCLUDE)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tare DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library
  FILES_MATCHING PATTERN "*.h" ${without_others})
get_target_property(type tare TYPE)
# The inline namespace as include/tare/version.h makes it: natvis has no pattern for it.
set(TARE_ABI v${PROJECT_VERSION_MAJOR}_${PROJECT_VERSION_MINOR})
if(NOT type STREQUAL SHARED_LIBRARY)
  set(TARE_ABI ${TARE_ABI}_${PROJECT_VERSION_PATCH})
endif()
configure_file(${PROJECT_SOURCE_DIR}/src/lib/debuggers/tare.natvis.in ${PROJECT_BINARY_DIR}/package/tare.natvis @ONLY)
install(FILES ${PROJECT_SOURCE_DIR}/src/lib/debuggers/tare_gdb.py
  ${PROJECT_SOURCE_DIR}/src/lib/debuggers/tare_lldb.py ${PROJECT_BINARY_DIR}/package/tare.natvis
  DESTINATION ${CMAKE_INSTALL_DATADIR}/tare COMPONENT library)
install(EXPORT tare-targets NAMESPACE tare:: DESTINATION ${TARE_PACKAGE_DIR} COMPONENT library)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tare-config.cmake.in
  ${PROJECT_BINARY_DIR}/package/tare-config.cmake INSTALL_DESTINATION ${TARE_PACKAGE_DIR})
# before 1.0 a minor version may change what the one before promised
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/tare-config-version.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
# relative to itself, so that what was installed may be moved
file(RELATIVE_PATH TARE_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
if(type STREQUAL SHARED_LIBRARY)
  set(TARE_PC_DEFINITIONS " -DTARE_SHARED")
else()
  # C programs use tare/variant/c.h and tare/reporter.h, and their compiler doesn't link the C++ library by itself
  set(TARE_PC_LIBRARIES " -lstdc++")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/tare.pc.in ${PROJECT_BINARY_DIR}/package/tare.pc @ONLY)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/TareHeapTest.cmake ${PROJECT_SOURCE_DIR}/cmake/tare_heap_test.cmake
  DESTINATION ${TARE_PACKAGE_DIR} COMPONENT library)
install(FILES ${PROJECT_BINARY_DIR}/package/tare-config.cmake ${PROJECT_BINARY_DIR}/package/tare-config-version.cmake
  DESTINATION ${TARE_PACKAGE_DIR} COMPONENT library)
install(FILES ${PROJECT_BINARY_DIR}/package/tare.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
