// Analyses of files, each made when it is first asked for.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/session/regions.h"
#include "hodo/text/module.h"
#include "hodo/text/names.h"

namespace hodo::check {

// A file that could not be analysed.
struct Unread {
  std::string path;
  std::string reason;
};

class Modules {
 public:
  // `cache`: where analyses are kept, or null.
  explicit Modules(const text::ModuleCache* cache) : cache_(cache) {}

  // The analysis of the file at `location`; null where it cannot be made. A file is read once.
  const text::Module* get(std::string_view location);
  // Makes those of all these that get() has not been asked for yet, several at once. Throws what
  // making one has thrown.
  void prepare(std::span<const std::string_view> locations);
  // There is no analysis, since the file is neither ELF nor PE, in which Wine and .NET have code.
  bool is_raw(std::string_view location) const { return raw_.contains(location); }
  // The file makes code at run time, as those that a code generator's name is known of: a library
  // by its DT_SONAME, a program by what is in it, since anybody can name a file. Null: not known.
  const text::Generator* generator(const session::MappedFile& file);
  // text::keeps_code_as_data, found out once.
  bool keeps_code_as_data(const text::Module& module);
  const std::vector<Unread>& unread() const { return unread_; }

 private:
  using Made = Result<std::shared_ptr<const text::Module>>;
  // A file that nobody has asked for; nullopt: it is a copy of one that is known under another
  // name, which its build-id has told, and is now known by this one, too.
  struct Fresh {
    std::string path;
    std::string build_id;  // its bytes; empty: none
  };
  std::optional<Fresh> fresh(std::string_view location);
  const text::Module* keep(const Fresh& file, Made module);

  const text::ModuleCache* cache_;
  std::map<std::string, std::shared_ptr<const text::Module>, std::less<>> by_location_;
  // The same file under other names.
  std::map<std::string, std::shared_ptr<const text::Module>> by_build_id_;  // their bytes
  std::vector<Unread> unread_;
  std::set<std::string, std::less<>> raw_;
  std::map<std::string, const text::Generator*, std::less<>> generators_;  // by path as recorded
  std::map<const text::Module*, bool> keep_code_as_data_;
};

}  // namespace hodo::check
