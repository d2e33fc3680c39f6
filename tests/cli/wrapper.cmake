# The wrapper's tests: the wrapper as a program of its own, and a fake ptxas that shows what reached it.
file(GLOB wrapper_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/wrapper*.c)
add_executable(wrapper_tool wrapper_tool.c ${wrapper_sources})
target_link_libraries(wrapper_tool PRIVATE evocc_compiler)
# Beside the helper program, which it looks for there.
set_target_properties(wrapper_tool PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
add_dependencies(wrapper_tool evocc-helper)
add_executable(fake_ptxas fake_ptxas.c)
target_link_libraries(fake_ptxas PRIVATE evocc_flags)

foreach(name wrapper wrapper_faults wrapper_ptxas)
    evocc_test(${name} ROOMS compiler SOURCES wrapper_support.c ${wrapper_sources})
    add_dependencies(test_${name} wrapper_tool fake_ptxas)
    target_compile_definitions(test_${name} PRIVATE
        WRAPPER_TOOL="$<TARGET_FILE:wrapper_tool>" FAKE_PTXAS="$<TARGET_FILE:fake_ptxas>")
endforeach()
