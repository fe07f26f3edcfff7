// Which files a program asked for, by the dependencies that files declare.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hodo/session/regions.h"
#include "modules.h"

namespace hodo::check {

// The files mapped in a process at one time.
class Scope {
 public:
  Scope(const std::vector<session::MappedFile>& files, Modules& modules);

  // The program itself: the file that names an interpreter and has no name as a library. Null in a
  // program without a dynamic linker.
  const text::Module* program() const { return program_; }
  // Whether `to` is `from`, or among what it depends on, directly or through others.
  bool depends(const text::Module* from, const text::Module* to) const;
  // Whether a file, or what it was opened with (dlopen), may bring both along: one that is mapped
  // depends on both, and the program not on `from`, for which names are looked up in what the
  // program depends on alone.
  bool share_opened(const text::Module* from, const text::Module* to) const;

  // Whether of the files that `from` or the program depends on none has a function or object of
  // this name that others can ask for: what has it was opened for all (RTLD_GLOBAL), then. False
  // where one of them is not mapped or cannot be read.
  bool lacks(const text::Module* from, std::string_view name) const;

  struct Loaded {
    std::string_view path;
    const text::Module* module = nullptr;
    std::uint64_t since = 0;  // session::MappedFile::since
  };
  struct Stranger {
    Loaded file;
    std::vector<std::string_view> brings;  // paths of what it depends on and came after it
  };
  // Files that the program does not depend on, without its dynamic linker, in the order in which
  // they came. Empty where a file that it depends on is not mapped or cannot be read, since what
  // that one depends on is then unknown.
  std::vector<Stranger> strangers() const;

 private:
  // What a file is and depends on, ascending, and whether all of that is there.
  struct Reached {
    std::vector<const text::Module*> files;
    bool complete = true;
    bool contains(const text::Module* module) const;
  };
  // Why a file is taken for the library of a name, the best reason first.
  enum class Claim : std::uint8_t { file_name, link, soname };
  void claim(std::string_view name, const text::Module* module, Claim how);
  const Reached& reached(const text::Module* from) const;

  std::vector<Loaded> loaded_;
  std::map<std::string, std::pair<const text::Module*, Claim>, std::less<>> by_name_;
  const text::Module* program_ = nullptr;
  mutable std::map<const text::Module*, Reached> reached_;  // as it was asked for
};

}  // namespace hodo::check
