// The library of fixture.cc and ways to take it apart.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "hodo/symbol/symbol_table.h"

namespace hodo::symbol::test {

using Bytes = std::vector<std::uint8_t>;

// Where no debug files are.
inline const DebugPaths kNoDebug{.roots = {}};

inline std::shared_ptr<const SymbolTable> open(const std::string& path,
                                               const DebugPaths& debug = kNoDebug) {
  auto table = SymbolTable::open(path, debug);
  if (!table) ADD_FAILURE() << table.error().message;
  return table ? *table : nullptr;
}

inline Bytes read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

// A folder that goes away with the test.
class TempFolder {
 public:
  TempFolder() {
    static int count = 0;
    path_ = std::filesystem::path(testing::TempDir()) /
            ("hodo-symbol-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    std::filesystem::create_directories(path_);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() { std::filesystem::remove_all(path_); }

  std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline bool run(const std::string& command) { return std::system(command.c_str()) == 0; }

}  // namespace hodo::symbol::test
