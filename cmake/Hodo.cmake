# The few functions that every folder's CMakeLists.txt uses.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR}/scripts/ccache)
endif()

# Sources of a module are compiled several at a time where nobody edits them between two builds: most of what a compiler
# does with one is to read the headers that the next one includes, too. So names in the unnamed namespaces of a module's
# sources must differ. The dev build has each by itself, with what it includes itself.
option(HODO_JOIN_SOURCES "compile a module's sources several at a time" OFF)

add_library(hodo_options INTERFACE)
target_compile_options(hodo_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  -Wno-sign-conversion -Wno-missing-field-initializers
  # Joined sources look like headers to GCC.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${HODO_JOIN_SOURCES}>>:-Wno-subobject-linkage>
  # GCC 12 sees overlaps that cannot be in "text" + std::string (its bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # clang blames us for what GCC 12's stable_sort calls.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
set(HODO_SANITIZE "" CACHE STRING "sanitizers to build with, for example address,undefined")
# C++ only: the C programs that tests run are built as a user's would be, by whatever cc is.
function(hodo_sanitize kinds)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-fsanitize=${kinds} ${ARGN}>")
  add_link_options("$<$<LINK_LANGUAGE:CXX>:-fsanitize=${kinds}>")
endfunction()
if(HODO_SANITIZE)
  hodo_sanitize(${HODO_SANITIZE} "-fno-sanitize-recover=all -fno-omit-frame-pointer")
  # Clang finds its own lld, which links these in a fraction of the time; cc knows no lld-19.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_link_options("$<$<LINK_LANGUAGE:CXX>:-fuse-ld=lld>")
  endif()
endif()
# What fuzz targets go through. libFuzzer only finds its way through code that reports its coverage; all else is
# compiled and runs faster without.
set(HODO_FUZZED base isa hw pt image symbol text flow perfdata session check ask)

# For sources that run once in a command, or say what was found: reports, options, JSON. A compiler spends
# most of its time with them on what their libraries write in headers, and nobody waits for them when they run.
# The dev build has them as all others, for the warnings that need optimisation.
if(HODO_SANITIZE)
  set(HODO_SHORT_BUILD -O0)
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(HODO_SHORT_BUILD -O1)
endif()

# What ccache needs to keep precompiled headers.
set(HODO_KEEP_HEADERS
  $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>)

# What the targets of a module have in common.
function(hodo_module_options target)
  target_link_libraries(${target} PRIVATE hodo_options)
  if(NOT ARG_APART)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${HODO_JOIN_SOURCES} UNITY_BUILD_BATCH_SIZE 16)
  endif()
endfunction()

# hodo_module(NAME SOURCES a.cc ... RARE b.cc ... DEPS base pt ... LIBS PkgConfig::X ... [APART])
# A library hodo_NAME whose public headers are src/NAME/include/hodo/NAME/*.h. RARE: sources for a short build.
# APART: sources that are never joined: what is fast in them shall not depend on what stands beside it.
# Without sources it is header-only.
function(hodo_module name)
  cmake_parse_arguments(ARG "APART" "" "SOURCES;RARE;DEPS;LIBS;PRIVATE_LIBS" ${ARGN})
  list(TRANSFORM ARG_DEPS PREPEND hodo_)
  if(HODO_SHORT_BUILD AND ARG_RARE)
    add_library(hodo_${name}_rare OBJECT ${ARG_RARE})
    target_include_directories(hodo_${name}_rare PRIVATE include .)
    target_link_libraries(hodo_${name}_rare PRIVATE ${ARG_DEPS} ${ARG_LIBS} ${ARG_PRIVATE_LIBS})
    target_compile_options(hodo_${name}_rare PRIVATE ${HODO_SHORT_BUILD})
    hodo_module_options(hodo_${name}_rare)
    set(ARG_RARE $<TARGET_OBJECTS:hodo_${name}_rare>)
  endif()
  list(APPEND ARG_SOURCES ${ARG_RARE})
  if(ARG_SOURCES)
    add_library(hodo_${name} STATIC ${ARG_SOURCES})
    set_target_properties(hodo_${name} PROPERTIES LINKER_LANGUAGE CXX)
    target_include_directories(hodo_${name} PUBLIC include PRIVATE .)
    target_link_libraries(hodo_${name} PUBLIC ${ARG_DEPS} ${ARG_LIBS} PRIVATE ${ARG_PRIVATE_LIBS})
    hodo_module_options(hodo_${name})
    if(HODO_FUZZ AND name IN_LIST HODO_FUZZED)
      target_compile_options(hodo_${name} PRIVATE -fsanitize=fuzzer-no-link)
    elseif(HODO_SANITIZE AND NOT ARG_APART)
      target_compile_options(hodo_${name} PRIVATE ${HODO_SHORT_BUILD})
    endif()
  else()
    add_library(hodo_${name} INTERFACE)
    target_include_directories(hodo_${name} INTERFACE include)
    target_link_libraries(hodo_${name} INTERFACE ${ARG_DEPS} ${ARG_LIBS})
  endif()
endfunction()

# What nearly every test includes, compiled once. A program, as the tests are: position independent in the same way.
function(hodo_test_headers)
  if(TARGET hodo_test_headers)
    return()
  endif()
  find_package(GTest REQUIRED)
  add_executable(hodo_test_headers EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/tests/no_test.cc)
  target_link_libraries(hodo_test_headers PRIVATE GTest::gmock GTest::gtest_main hodo_options)
  target_compile_options(hodo_test_headers PRIVATE ${HODO_TEST_OPTIONS})
  target_precompile_headers(hodo_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h>
    <algorithm> <array> <chrono> <cstdint> <filesystem> <fstream> <map> <optional> <span> <string> <string_view>
    <thread> <vector>)
endfunction()
# Most of a test is compiled to run once.
set(HODO_TEST_OPTIONS -O0 ${HODO_KEEP_HEADERS})

# Registers the cases of a GoogleTest program. With sanitizers to start a program takes longer than most cases do: there
# a few processes run them, whose results lie in gtest/ for scripts/ctest-counts.
function(hodo_test_cases name one_process_each)
  if(one_process_each OR NOT HODO_SANITIZE)
    gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60)
    return()
  endif()
  set(parts 4)
  foreach(part RANGE 1 ${parts})
    set(case ${name}.${part}of${parts})
    math(EXPR index "${part} - 1")
    add_test(NAME ${case} COMMAND ${name} --gtest_brief=1 --gtest_output=xml:${CMAKE_BINARY_DIR}/gtest/${case}.xml)
    set_tests_properties(${case} PROPERTIES
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${parts};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# hodo_test(NAME SOURCES a.cc ... LONG b.cc ... DEPS pt ... LIBS ... INSIDE capture APART): a GoogleTest program, one CTest
# case each. LONG: sources in which tests spend their time, compiled to run. INSIDE: modules whose private headers it
# includes, too. APART: a case cannot follow another in one process. Without HODO_UNIT_TESTS it is built when asked for.
function(hodo_test name)
  cmake_parse_arguments(ARG "APART" "" "SOURCES;LONG;DEPS;LIBS;INSIDE" ${ARGN})
  find_package(GTest REQUIRED)
  include(GoogleTest)
  list(TRANSFORM ARG_DEPS PREPEND hodo_)
  add_executable(${name} ${ARG_SOURCES} ${ARG_LONG})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} ${ARG_LIBS} GTest::gmock GTest::gtest_main
    hodo_options)
  set_source_files_properties(${ARG_LONG} PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
  hodo_test_headers()
  target_compile_options(${name} PRIVATE ${HODO_TEST_OPTIONS})
  target_precompile_headers(${name} REUSE_FROM hodo_test_headers)
  foreach(module ${ARG_INSIDE})
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src/${module})
  endforeach()
  if(NOT HODO_UNIT_TESTS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  hodo_test_cases(${name} "${ARG_APART}")
endfunction()

# hodo_fuzz(NAME SOURCES a.cc DEPS pt ...): a libFuzzer target with HODO_FUZZ, else the same code with
# a main that replays files. CTest has both replay fuzz/corpus/NAME, so that it cannot rot.
function(hodo_fuzz name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS" ${ARGN})
  foreach(module ${ARG_DEPS})
    if(NOT module IN_LIST HODO_FUZZED)
      message(FATAL_ERROR "fuzz target ${name} needs ${module} in HODO_FUZZED")
    endif()
  endforeach()
  list(TRANSFORM ARG_DEPS PREPEND hodo_)
  if(HODO_FUZZ)
    add_executable(fuzz_${name} ${ARG_SOURCES})
    target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    set(replay -runs=0)
  else()
    add_executable(fuzz_${name} ${ARG_SOURCES} ${CMAKE_SOURCE_DIR}/fuzz/replay_main.cc)
    set(replay)
  endif()
  add_test(NAME fuzz_replay.${name}
    COMMAND fuzz_${name} ${replay} ${CMAKE_SOURCE_DIR}/fuzz/corpus/${name})
  target_link_libraries(fuzz_${name} PRIVATE ${ARG_DEPS} ${ARG_LIBS} hodo_options)
endfunction()
