# LLVM's headers and library, as TARE_LLVM_INCLUDE and TARE_LLVM_LIBRARY. LLVM's own package file looks for all that LLVM was
# built with; a folder and a library do here. The folder is one of links to LLVM's own headers: beside them may lie
# libc++abi's <cxxabi.h>, which isn't the one that gcc's library wants.
find_path(TARE_LLVM_ROOT llvm/ADT/StringMap.h PATHS /usr/lib/llvm-19/include REQUIRED)
find_library(TARE_LLVM_LIBRARY LLVM-19 PATHS /usr/lib/llvm-19/lib REQUIRED)
set(TARE_LLVM_INCLUDE ${CMAKE_CURRENT_BINARY_DIR}/llvm-include)
file(MAKE_DIRECTORY ${TARE_LLVM_INCLUDE})
foreach(folder llvm llvm-c)
  get_filename_component(headers ${TARE_LLVM_ROOT}/${folder} REALPATH)
  file(CREATE_LINK ${headers} ${TARE_LLVM_INCLUDE}/${folder} SYMBOLIC)
endforeach()
