// The files that a recording names, as far as they can be found here and are still the same.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/base/fd.h"
#include "hodo/base/result.h"
#include "hodo/image/content.h"
#include "hodo/perfdata/model.h"
#include "hodo/symbol/symbol_table.h"

namespace hodo::session {

// Not "//anon", "[heap]", "/memfd:...", "/tmp/#123 (deleted)", ..., nor one that was deleted before
// it was mapped `shared`. A guest's file of which nothing tells that this machine has it is
// "guest:PATH" (docs/file-format.md).
bool names_a_file(std::string_view path, bool shared);

// "[anon]", "[heap]" or "[stack]" for a mapping of that path: memory that has no place in a file,
// so that only the address tells one byte of it from another. Else empty.
std::string_view area_name(std::string_view path);

class Files {
 public:
  enum class State : std::uint8_t {
    untried,
    good,     // readable, and its build-id is the recorded one where there is one
    missing,  // not to be found or not readable
    changed,  // there, but with another build-id
    no_file,  // "//anon", "[heap]", ...: never was a file
  };

  // What Options say of them.
  struct Where {
    std::string symfs;
    symbol::SourcePaths sources;
    std::shared_ptr<symbol::LineStore> lines;
  };
  // `recording` must outlive this.
  Files(const perfdata::Model& recording, Where where);

  // Bytes of file `index`; an empty slice where state() is not good.
  image::Slice slice(std::uint32_t index, std::uint64_t offset, std::uint64_t length);
  // What is known after slice(), and after its bytes were looked at.
  State state(std::uint32_t index) const;
  // One line: what is wrong with the file; empty if nothing is.
  std::string trouble(std::uint32_t index) const;
  // Symbols of the file, for any thread; null where there are none or state() is not good.
  const symbol::SymbolTable* symbols(std::uint32_t index);
  // Where a file that the recording names by `path` would lie; nullopt for a guest's without symfs.
  std::optional<std::string> place(std::string_view path) const;
  // The same for what a process wrote to /tmp and the recording does not name.
  std::optional<std::string> unnamed_place(std::string_view path) const;
  // Where the bytes come from: the recorded path, that of perf's build-id cache, or where a file is
  // that the recording holds. Empty unless good.
  const std::string& location(std::uint32_t index) const { return known_[index].location; }

 private:
  struct Known {
    State state = State::untried;
    std::string trouble;
    std::string location;
    std::shared_ptr<const image::Content> content;
    bool symbols_tried = false;
    std::shared_ptr<const symbol::SymbolTable> symbols;
  };
  void look(std::uint32_t index);
  std::string held_place(const perfdata::File& file);

  const perfdata::Model& recording_;
  const std::vector<perfdata::File>& files_;
  bool of_guest_;
  Where where_;
  std::vector<Known> known_;
  std::vector<Fd> held_;  // files of the recording's own, brought out of it
  image::ContentStore store_;
  std::mutex reading_;
};

}  // namespace hodo::session
