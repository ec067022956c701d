# Runs GLib's own test PROGRAM as it is and with PRELOAD: the same cases must pass.
function(run_cases result)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env ${ARGN} ${PROGRAM} --tap --seed=R02S1234567890abcdef1234567890abcdef
    OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
  string(REGEX MATCHALL "(^|\n)ok [0-9]+ [^\n]*" cases "${output}")
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN} ${PROGRAM} ended with ${status}:\n${output}\n${errors}")
  endif()
  set(${result} "${cases}" PARENT_SCOPE)
endfunction()

run_cases(alone LD_PRELOAD=)
run_cases(preloaded LD_PRELOAD=${PRELOAD})
list(LENGTH alone count)
if(count LESS 60 OR NOT alone STREQUAL preloaded)
  message(FATAL_ERROR "other cases pass with the preload:\n${preloaded}\nwithout:\n${alone}")
endif()
message(STATUS "${count} cases pass")
