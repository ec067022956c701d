# tare_add_heap_test(NAME name COMMAND program [arguments...]
#                    [MAX_ALLOCATIONS n] [MAX_PEAK_BYTES b] [MAX_END_BYTES b] [MAX_TARE_PERCENT p]
#                    [BUDGET file.toml] [BASELINE file.tare])
#
# Adds a CTest test that records the command and fails if the command does or if its heap exceeds a limit. Bytes are numbers or texts such as
# 12M. A single case of GoogleTest, Catch2 or doctest is a command, too:
#
#   tare_add_heap_test(NAME parse-heap COMMAND unit_tests --gtest_filter=Parser.Parses MAX_ALLOCATIONS 1000 MAX_PEAK_BYTES 2M)
#
# TARE is the command `tare`; it is looked up in PATH. Without it the test is skipped.
set(TARE_HEAP_TEST_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/tare_heap_test.cmake)

function(tare_add_heap_test)
  cmake_parse_arguments(PARSE_ARGV 0 heap "" "NAME;MAX_ALLOCATIONS;MAX_PEAK_BYTES;MAX_END_BYTES;MAX_TARE_PERCENT;BUDGET;BASELINE" "COMMAND")
  if(NOT heap_NAME OR NOT heap_COMMAND OR heap_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tare_add_heap_test: needs NAME, COMMAND and limits; unknown: '${heap_UNPARSED_ARGUMENTS}'")
  endif()
  set(limits "")
  foreach(limit MAX_ALLOCATIONS=total.blocks MAX_PEAK_BYTES=peak.gross_bytes MAX_END_BYTES=end.gross_bytes MAX_TARE_PERCENT=peak.tare_percent)
    string(REPLACE "=" ";" limit ${limit})
    list(GET limit 0 name)
    list(GET limit 1 figure)
    if(NOT "${heap_${name}}" STREQUAL "")
      string(APPEND limits "\"${figure}\" = ")
      if("${heap_${name}}" MATCHES "^[0-9.]+$")
        string(APPEND limits "${heap_${name}}\n")
      else()
        string(APPEND limits "\"${heap_${name}}\"\n")
      endif()
    endif()
  endforeach()
  if(limits STREQUAL "" AND NOT heap_BUDGET AND NOT heap_BASELINE)
    message(FATAL_ERROR "tare_add_heap_test(${heap_NAME}): no limit: give MAX_ALLOCATIONS, MAX_PEAK_BYTES, BUDGET, BASELINE, ...")
  endif()
  set(budget ${CMAKE_CURRENT_BINARY_DIR}/${heap_NAME}.toml)
  if(NOT limits STREQUAL "")
    file(CONFIGURE OUTPUT ${budget} CONTENT "[budget]\n${limits}")
  else()
    set(budget "")
  endif()
  foreach(file BUDGET BASELINE)
    if(heap_${file})
      get_filename_component(heap_${file} "${heap_${file}}" ABSOLUTE)
    endif()
  endforeach()
  find_program(TARE tare)
  list(POP_FRONT heap_COMMAND program)
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  add_test(NAME ${heap_NAME} COMMAND ${CMAKE_COMMAND} "-DTARE=${TARE}" -DNAME=${heap_NAME} "-DLIMITS=${budget}" "-DBUDGET=${heap_BUDGET}"
    "-DBASELINE=${heap_BASELINE}" -P ${TARE_HEAP_TEST_SCRIPT} -- ${program} ${heap_COMMAND})
  set_tests_properties(${heap_NAME} PROPERTIES SKIP_REGULAR_EXPRESSION "tare isn't in PATH")
endfunction()
