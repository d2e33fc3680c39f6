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

install(FILES README.md CHANGELOG.md LICENSE docs/architecture.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
