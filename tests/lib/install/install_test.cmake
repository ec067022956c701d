# Installs the library alone into a fresh folder and builds the consumer against it three ways: by find_package, by
# pkg-config, as a subdirectory; with each compiler that is there, without exceptions and RTTI, warnings being errors.
#   cmake -DSOURCE_DIR=... -DSCRATCH_DIR=... -P install_test.cmake
cmake_minimum_required(VERSION 3.24)
set(FLAGS -Wall -Wextra -Wshadow -Wconversion -Werror -fno-exceptions -fno-rtti)
list(JOIN FLAGS " " FLAGS_AS_TEXT)
set(HERE ${SOURCE_DIR}/tests/lib/install)
set(PREFIX ${SCRATCH_DIR}/prefix)
file(REMOVE_RECURSE ${SCRATCH_DIR})
file(MAKE_DIRECTORY ${SCRATCH_DIR})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}:\n${output}")
  endif()
endfunction()

run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE_DIR} -B ${SCRATCH_DIR}/library -DTARE_LIBRARY_ONLY=ON
  -DCMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${SCRATCH_DIR}/library)
run(${CMAKE_COMMAND} --install ${SCRATCH_DIR}/library --prefix ${PREFIX})
file(GLOB_RECURSE installed LIST_DIRECTORIES false RELATIVE ${PREFIX} ${PREFIX}/*)
foreach(file ${installed})
  if(NOT file MATCHES "^(include/tare/.*\\.h|lib.*/libtare\\.a|lib.*/cmake/tare/.*\\.cmake|lib.*/pkgconfig/tare\\.pc)$")
    message(FATAL_ERROR "installed besides the library: ${file}")
  endif()
endforeach()

foreach(compiler g++ clang++-19)
  find_program(COMPILER_${compiler} ${compiler})
  if(NOT COMPILER_${compiler})
    message(STATUS "${compiler} isn't here")
    continue()
  endif()
  foreach(way find_package subdirectory)
    set(build ${SCRATCH_DIR}/${compiler}-${way})
    run(${CMAKE_COMMAND} -G Ninja -S ${HERE}/${way} -B ${build} -DCMAKE_PREFIX_PATH=${PREFIX}
      -DTARE_SOURCE_DIR=${SOURCE_DIR} -DCMAKE_CXX_COMPILER=${COMPILER_${compiler}} -DCMAKE_CXX_FLAGS=${FLAGS_AS_TEXT})
    run(${CMAKE_COMMAND} --build ${build} --target consumer)
    run(${build}/consumer)
    message(STATUS "${compiler}: ${way} works")
  endforeach()

  file(GLOB pc ${PREFIX}/lib*/pkgconfig ${PREFIX}/lib/*/pkgconfig)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${pc} pkg-config --cflags --libs tare
    OUTPUT_VARIABLE package OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(package)
  run(${COMPILER_${compiler}} -std=c++20 ${FLAGS} ${HERE}/consumer.cc ${package} -o ${SCRATCH_DIR}/${compiler}-pkg-config)
  run(${SCRATCH_DIR}/${compiler}-pkg-config)
  message(STATUS "${compiler}: pkg-config works")
endforeach()
