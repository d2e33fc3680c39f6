# Flags, third-party libraries and the functions every room uses.

add_library(evocc_flags INTERFACE)
target_compile_definitions(evocc_flags INTERFACE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE)
target_compile_options(evocc_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
    -Wold-style-definition -Wcast-qual -Wpointer-arith -Wwrite-strings -Wundef -Wvla -Wformat=2
    -Wdouble-promotion -Wswitch-enum -Wimplicit-fallthrough
    # Search decisions must be the same on every machine: no fused multiply-add behind our back.
    -ffp-contract=off)
if(EVOCC_WERROR)
    target_compile_options(evocc_flags INTERFACE -Werror)
endif()
if(EVOCC_SANITIZE)
    target_compile_options(evocc_flags INTERFACE -fsanitize=${EVOCC_SANITIZE} -fno-omit-frame-pointer
        -fno-sanitize-recover=all)
    target_link_options(evocc_flags INTERFACE -fsanitize=${EVOCC_SANITIZE})
    # Each arena block its own malloc, so that the sanitizer sees an overrun of any of them.
    target_compile_definitions(evocc_flags INTERFACE EVOCC_ARENA_MALLOC)
endif()
if(EVOCC_FUZZ)
    target_compile_options(evocc_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
target_include_directories(evocc_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(evocc_flags INTERFACE m)

find_package(PkgConfig REQUIRED)
# evocc_find(<name> <pkg-config module>): the target evocc_<name>. With EVOCC_STATIC the programs get
# the archives of it and of what it needs, all but the C library's own parts, and so run on machines
# that have none of them. libevocc.so and the Python module take the shared ones always: Debian's
# archives are not position independent.
function(evocc_find name module)
    pkg_check_modules(${name} REQUIRED ${module})
    add_library(evocc_${name} INTERFACE)
    target_include_directories(evocc_${name} SYSTEM INTERFACE ${${name}_INCLUDE_DIRS})
    if(NOT EVOCC_STATIC)
        target_link_libraries(evocc_${name} INTERFACE ${${name}_LINK_LIBRARIES})
        return()
    endif()
    set(archives "")
    foreach(library IN LISTS ${name}_STATIC_LIBRARIES)
        if(library MATCHES "^(c|m|dl|rt|pthread)$")
            list(APPEND archives ${library})
            continue()
        endif()
        find_library(EVOCC_STATIC_${library} NAMES lib${library}.a
            HINTS ${${name}_STATIC_LIBRARY_DIRS} REQUIRED)
        list(APPEND archives ${EVOCC_STATIC_${library}})
    endforeach()
    set(type $<TARGET_PROPERTY:TYPE>)
    set(shared $<OR:$<STREQUAL:${type},SHARED_LIBRARY>,$<STREQUAL:${type},MODULE_LIBRARY>>)
    target_link_libraries(evocc_${name} INTERFACE
        "$<IF:${shared},${${name}_LINK_LIBRARIES},${archives}>")
endfunction()
evocc_find(fyaml libfyaml)
evocc_find(sqlite sqlite3)
evocc_find(lua lua5.4)
evocc_find(elf libelf)
evocc_find(xxhash libxxhash)
evocc_find(md libmd)

# evocc_room(<name> SOURCES ... ROOMS ... LIBRARIES ...): one folder under src/. ROOMS may name only
# rooms above this one in docs/architecture.md; tools/check-includes holds includes to the same order.
function(evocc_room name)
    cmake_parse_arguments(ROOM "" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
    add_library(evocc_${name} STATIC ${ROOM_SOURCES})
    target_link_libraries(evocc_${name} PUBLIC evocc_flags)
    foreach(room IN LISTS ROOM_ROOMS)
        target_link_libraries(evocc_${name} PUBLIC evocc_${room})
    endforeach()
    foreach(library IN LISTS ROOM_LIBRARIES)
        target_link_libraries(evocc_${name} PRIVATE ${library})
    endforeach()
    set_property(GLOBAL APPEND PROPERTY EVOCC_ROOMS ${name})
endfunction()

# evocc_test(<name> ROOMS ... SOURCES ... TIMEOUT s SLOW): tests/<folder>/test_<name>.c as one cmocka
# program. A program that exits with 77 counts as skipped. SLOW: run by `./check all` only.
# Without cmocka there are no tests (the root CMakeLists.txt): ./demo needs none.
pkg_check_modules(cmocka IMPORTED_TARGET cmocka)
function(evocc_test name)
    cmake_parse_arguments(TEST "SLOW" "TIMEOUT" "ROOMS;SOURCES" ${ARGN})
    add_executable(test_${name} test_${name}.c ${TEST_SOURCES})
    foreach(room IN LISTS TEST_ROOMS)
        target_link_libraries(test_${name} PRIVATE evocc_${room})
    endforeach()
    target_link_libraries(test_${name} PRIVATE evocc_flags PkgConfig::cmocka)
    target_compile_definitions(test_${name} PRIVATE EVOCC_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
        EVOCC_BINARY_DIR="${PROJECT_BINARY_DIR}")
    add_test(NAME ${name} COMMAND test_${name})
    evocc_test_properties(${name} "${TEST_TIMEOUT}" "${TEST_SLOW}")
endfunction()

# evocc_script_test(<name> COMMAND <script> <arguments> ... TIMEOUT s SLOW): a script in this folder
# as one test; 77 is skipped here, too. The script finds the tree and the build in
# EVOCC_SOURCE_DIR and EVOCC_BINARY_DIR.
function(evocc_script_test name)
    cmake_parse_arguments(TEST "SLOW" "TIMEOUT" "COMMAND" ${ARGN})
    list(POP_FRONT TEST_COMMAND script)
    add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${TEST_COMMAND})
    evocc_test_properties(${name} "${TEST_TIMEOUT}" "${TEST_SLOW}")
    set_property(TEST ${name} PROPERTY ENVIRONMENT
        "EVOCC_SOURCE_DIR=${PROJECT_SOURCE_DIR}" "EVOCC_BINARY_DIR=${PROJECT_BINARY_DIR}")
endfunction()

function(evocc_test_properties name timeout slow)
    if(NOT timeout)
        set(timeout 120)
    endif()
    if(EVOCC_SANITIZE)
        math(EXPR timeout "${timeout} * 3") # the sanitizers slow a program down two to three times
    endif()
    set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} SKIP_RETURN_CODE 77)
    if(slow)
        set_tests_properties(${name} PROPERTIES LABELS slow)
    endif()
endfunction()

# evocc_fuzz(<name> ROOMS ...): fuzz_<name>.c, which defines LLVMFuzzerTestOneInput. With EVOCC_FUZZ
# it becomes the libFuzzer program fuzz_<name>; always, the files in corpus/<name> are replayed as the
# test fuzz_<name>, so that an input that once failed stays a test of every build.
function(evocc_fuzz name)
    cmake_parse_arguments(FUZZ "" "" "ROOMS" ${ARGN})
    foreach(kind replay fuzz)
        if(kind STREQUAL "fuzz" AND NOT EVOCC_FUZZ)
            continue()
        endif()
        add_executable(${kind}_${name} fuzz_${name}.c)
        foreach(room IN LISTS FUZZ_ROOMS)
            target_link_libraries(${kind}_${name} PRIVATE evocc_${room})
        endforeach()
        target_link_libraries(${kind}_${name} PRIVATE evocc_flags)
    endforeach()
    target_sources(replay_${name} PRIVATE replay.c)
    if(EVOCC_FUZZ)
        target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    endif()
    add_test(NAME fuzz_${name} COMMAND replay_${name} ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
    set_tests_properties(fuzz_${name} PROPERTIES TIMEOUT 120
        ENVIRONMENT LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/lsan.supp)
endfunction()

# evocc_shared_library(): libevocc from every room but the command line, with nothing exported that
# the public header does not mark.
function(evocc_shared_library)
    get_property(rooms GLOBAL PROPERTY EVOCC_ROOMS)
    list(REMOVE_ITEM rooms cli)
    add_library(evocc_shared SHARED)
    foreach(room IN LISTS rooms)
        target_sources(evocc_shared PRIVATE $<TARGET_OBJECTS:evocc_${room}>)
        # The objects are all there already; this brings the third-party libraries of the room.
        target_link_libraries(evocc_shared PRIVATE evocc_${room})
    endforeach()
    # --exclude-libs: the rooms' archives, and whatever else is linked in, export nothing either.
    target_link_options(evocc_shared PRIVATE -Wl,--exclude-libs,ALL -Wl,--as-needed)
    if(NOT EVOCC_SANITIZE)
        target_link_options(evocc_shared PRIVATE -Wl,--no-undefined)
    endif()
    set_target_properties(evocc_shared PROPERTIES
        OUTPUT_NAME evocc LINKER_LANGUAGE C
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
endfunction()
