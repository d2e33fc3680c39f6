# The shared library, and what `cmake --install` lays down. An installed tree may be moved as a whole:
# the library, the program and evocc.pc find their files relative to themselves.

evocc_shared_library()

install(TARGETS evocc_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/evocc/evocc.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/evocc)
install(TARGETS evocc RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS evocc-helper RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/evocc)

file(RELATIVE_PATH EVOCC_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" EVOCC_PC_PREFIX "${EVOCC_PC_PREFIX}")
configure_file(cmake/evocc.pc.in evocc.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/evocc.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# evocc_generate(<file> <folder under the data root> <arguments of evocc>): the program prints the
# file, from the same tables that parse its command line.
function(evocc_generate file folder)
    set(path ${PROJECT_BINARY_DIR}/generated/${folder}/${file})
    add_custom_command(OUTPUT ${path}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/generated/${folder}
        COMMAND evocc ${ARGN} > ${path}
        DEPENDS evocc VERBATIM)
    set_property(GLOBAL APPEND PROPERTY EVOCC_GENERATED ${path})
    install(FILES ${path} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/${folder})
endfunction()
evocc_generate(evocc.1 man/man1 --man)
evocc_generate(evocc bash-completion/completions --completions bash)
evocc_generate(_evocc zsh/site-functions --completions zsh)
evocc_generate(evocc.fish fish/vendor_completions.d --completions fish)
get_property(generated GLOBAL PROPERTY EVOCC_GENERATED)
add_custom_target(evocc_generated ALL DEPENDS ${generated})

# As in the tree, so that the links between the documents hold.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
