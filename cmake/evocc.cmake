# Flags, third-party libraries and the two functions every room uses.

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
endif()
target_include_directories(evocc_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)

find_package(PkgConfig REQUIRED)
# evocc_find(<target> <pkg-config module>): an imported target, static when EVOCC_STATIC asks for it.
function(evocc_find name module)
    pkg_check_modules(${name} REQUIRED ${module})
    add_library(evocc_${name} INTERFACE)
    target_include_directories(evocc_${name} SYSTEM INTERFACE ${${name}_INCLUDE_DIRS})
    if(EVOCC_STATIC)
        set(libraries "")
        foreach(library IN LISTS ${name}_STATIC_LIBRARIES)
            find_library(static_${library} NAMES lib${library}.a HINTS ${${name}_STATIC_LIBRARY_DIRS})
            if(static_${library} AND NOT library MATCHES "^(m|dl|pthread|c)$")
                list(APPEND libraries ${static_${library}})
            else()
                list(APPEND libraries ${library})
            endif()
        endforeach()
        target_link_libraries(evocc_${name} INTERFACE ${libraries})
    else()
        target_link_libraries(evocc_${name} INTERFACE ${${name}_LINK_LIBRARIES})
    endif()
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
endfunction()

# evocc_test(<name> ROOMS ...): tests/<folder>/test_<name>.c as one cmocka program.
find_package(PkgConfig REQUIRED)
pkg_check_modules(cmocka IMPORTED_TARGET cmocka)
function(evocc_test name)
    cmake_parse_arguments(TEST "" "TIMEOUT" "ROOMS;SOURCES" ${ARGN})
    add_executable(test_${name} test_${name}.c ${TEST_SOURCES})
    foreach(room IN LISTS TEST_ROOMS)
        target_link_libraries(test_${name} PRIVATE evocc_${room})
    endforeach()
    target_link_libraries(test_${name} PRIVATE evocc_flags PkgConfig::cmocka)
    target_compile_definitions(test_${name} PRIVATE EVOCC_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
        EVOCC_BINARY_DIR="${PROJECT_BINARY_DIR}")
    add_test(NAME ${name} COMMAND test_${name})
    if(NOT TEST_TIMEOUT)
        set(TEST_TIMEOUT 120)
    endif()
    set_tests_properties(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT} SKIP_RETURN_CODE 77)
endfunction()
