# The command, its manual pages and completions. Pages and scripts are made by the command itself from
# the definitions that --help uses.
include(GNUInstallDirs)
# A page for each command, cmd_NAME.cc, and one for the whole.
get_target_property(manual_pages hodo_cli SOURCES)
list(FILTER manual_pages INCLUDE REGEX "^cmd_")
list(TRANSFORM manual_pages REPLACE "^cmd_(.*)[.]cc$" "\\1")
list(TRANSFORM manual_pages REPLACE "_" "-")
list(PREPEND manual_pages hodo)
set(man_dir ${CMAKE_BINARY_DIR}/docs/man)
set(completion_dir ${CMAKE_BINARY_DIR}/docs/completions)

foreach(page ${manual_pages})
  if(page STREQUAL hodo)
    set(output ${man_dir}/hodo.1)
  else()
    set(output ${man_dir}/hodo-${page}.1)
  endif()
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${man_dir}
    COMMAND hodo help --man ${page} > ${output}
    DEPENDS hodo VERBATIM)
  list(APPEND generated ${output})
  list(APPEND man_files ${output})
endforeach()
foreach(shell bash zsh fish)
  set(output ${completion_dir}/hodo.${shell})
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${completion_dir}
    COMMAND hodo completion ${shell} > ${output}
    DEPENDS hodo VERBATIM)
  list(APPEND generated ${output})
endforeach()
add_custom_target(hodo_docs ALL DEPENDS ${generated})

install(TARGETS hodo RUNTIME)
install(FILES ${man_files} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${completion_dir}/hodo.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME hodo)
install(FILES ${completion_dir}/hodo.zsh
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _hodo)
install(FILES ${completion_dir}/hodo.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME hodo.fish)
# The rules' pages, which findings in SARIF logs link (HODO_RULES_URI).
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/rules DESTINATION ${CMAKE_INSTALL_DOCDIR})
