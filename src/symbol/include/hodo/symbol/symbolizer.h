// From an instruction pointer of a process at a time to module, symbol and source.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hodo/image/history.h"
#include "hodo/symbol/symbol_table.h"

namespace hodo::symbol {

// A file mapped into a process, as MMAP2 records tell.
struct Mapping {
  std::string path;
  std::uint64_t start = 0;
  std::uint64_t length = 0;
  std::uint64_t file_offset = 0;  // pgoff: of the byte at `start`
  std::uint64_t time = 0;
  // If known: a file that has another one today is not believed.
  std::vector<std::uint8_t> build_id = {};
};

struct Location {
  std::string_view module;  // the mapping's path; empty: nothing is mapped there
  std::string_view symbol;  // demangled; empty: no symbol there
  std::uint64_t symbol_offset = 0;
  std::uint64_t file_offset = 0;  // within the module
  bool plt = false;               // a stub on the way to the symbol
  bool synthetic = false;         // no symbol: SymbolKind::synthetic
};

// Add the processes' mappings, in any order, then ask. `process` is any number that stands for one
// process for its whole life (a PID that was used twice needs two). Location's views live as long
// as the symbolizer. Asking is safe for concurrent use, adding is not.
class Symbolizer {
 public:
  using Process = std::uint64_t;

  explicit Symbolizer(DebugPaths debug = {});
  ~Symbolizer();

  // An image for a path that is no file, as "[vdso]". Errors: as SymbolTable::from_bytes.
  Status add_image(const std::string& path, std::vector<std::uint8_t> bytes);

  void map(Process process, const Mapping& mapping);
  void unmap(Process process, std::uint64_t start, std::uint64_t length, std::uint64_t time);
  void exec(Process process, std::uint64_t time);
  void fork(Process parent, Process child, std::uint64_t time);

  Location resolve(Process process, std::uint64_t ip, std::uint64_t time) const;
  // Innermost frame first, functions demangled; empty where there is no DWARF.
  std::vector<SourceFrame> source(Process process, std::uint64_t ip, std::uint64_t time) const;

  // The modules that could not be read, with the reason, as far as they were asked for.
  std::vector<Error> unreadable() const;

 private:
  struct Module;
  struct Mapped {
    const Module* module = nullptr;
    std::uint64_t start = 0;
    std::uint64_t file_offset = 0;
  };
  struct Place {
    const Module* module = nullptr;
    std::uint64_t file_offset = 0;
  };
  using ModuleKey = std::pair<std::string, std::vector<std::uint8_t>>;  // path, build-id
  Module& module(const std::string& path, const std::vector<std::uint8_t>& build_id);
  Place place(Process process, std::uint64_t ip, std::uint64_t time) const;

  DebugPaths debug_;
  std::map<ModuleKey, std::unique_ptr<Module>> modules_;
  std::map<Process, image::History<Mapped>> processes_;  // a map: forks point at their parents
};

}  // namespace hodo::symbol
