# What other programs can use: one static library with the modules that read, the trace unit and the drivers, their headers,
# a CMake package and a pkg-config file. docs/library.md says what is promised of them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(library_modules base isa hw pt unit driver image symbol flow perfdata session analyze ask)
foreach(module ${library_modules})
  get_target_property(type hodo_${module} TYPE)
  if(type STREQUAL STATIC_LIBRARY)
    list(APPEND library_objects $<TARGET_OBJECTS:hodo_${module}>)
  endif()
endforeach()
find_package(Zydis REQUIRED)
find_package(fmt REQUIRED)
pkg_check_modules(HODOSCOPE_DEPS REQUIRED IMPORTED_TARGET libdw libelf liblzma libzstd zlib)

add_library(hodoscope STATIC ${library_objects})
set_target_properties(hodoscope PROPERTIES LINKER_LANGUAGE CXX)
target_compile_features(hodoscope PUBLIC cxx_std_23)
target_include_directories(hodoscope INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# Nothing of these is in a header.
target_link_libraries(hodoscope INTERFACE $<LINK_ONLY:Threads::Threads> $<LINK_ONLY:Zydis::Zydis>
  $<LINK_ONLY:fmt::fmt> $<LINK_ONLY:PkgConfig::HODOSCOPE_DEPS> $<LINK_ONLY:iberty>)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hodoscope)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/hodoscopeConfig.cmake.in
  ${CMAKE_BINARY_DIR}/hodoscopeConfig.cmake INSTALL_DESTINATION ${package_dir})
# Until 1.0 a new minor version may change what is declared.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/hodoscopeConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
# So that the installed tree can be moved.
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/hodoscope.pc.in ${CMAKE_BINARY_DIR}/hodoscope.pc @ONLY)

install(TARGETS hodoscope EXPORT hodoscope
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT Development)
install(EXPORT hodoscope NAMESPACE hodoscope:: FILE hodoscopeTargets.cmake
  DESTINATION ${package_dir} COMPONENT Development)
install(FILES ${CMAKE_BINARY_DIR}/hodoscopeConfig.cmake ${CMAKE_BINARY_DIR}/hodoscopeConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT Development)
install(FILES ${CMAKE_BINARY_DIR}/hodoscope.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT Development)
foreach(module ${library_modules})
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/src/${module}/include/hodo
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT Development)
endforeach()
