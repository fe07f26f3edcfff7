// Which indirect branches programs take: learned from clean runs, held against later ones.
//
// Direct branches are not part of it, since the text decides where they lead (text.target), nor are
// returns, which the calls that are open explain (return.target), nor jumps within a function. What
// is left is what data decides, between functions of files that are known by their build-ids. The
// file's format: docs/formats/baseline.md.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "hodo/base/result.h"

namespace hodo::check {

class Baseline {
 public:
  // Far more than all programs of a distribution take together.
  static constexpr std::size_t kMostEdges = std::size_t{1} << 22;
  static constexpr std::size_t kMostModules = std::size_t{1} << 16;
  static constexpr std::size_t kLongestId = 64;

  using BuildId = std::vector<std::uint8_t>;  // 1 to kLongestId bytes
  struct Edge {
    BuildId from_module;
    std::uint64_t from = 0;  // in the file, before relocation; as `to`
    BuildId to_module;
    std::uint64_t to = 0;
  };

  // Errors: malformed (at an offset) for what bytes() would not write; truncated; unsupported for
  // another version; no_space for more than kMostEdges or kMostModules.
  static Result<Baseline> parse(std::span<const std::uint8_t> bytes);
  // Also as image::RegularFile::open and read_all.
  static Result<Baseline> load(const std::string& path);

  // Equal sets give equal bytes.
  std::vector<std::uint8_t> bytes() const;
  // Replaces the file at once or not at all. Errors: io, with the system's reason.
  Status save(const std::string& path) const;

  // False: it was there before, or there is no room, or an id has no size that is allowed.
  bool add(const Edge& edge);
  bool contains(const Edge& edge) const;
  // Whether any edge begins or ends in the module.
  bool knows(const BuildId& module) const { return modules_.contains(module); }

  std::size_t edges() const { return edges_.size(); }
  std::size_t modules() const { return modules_.size(); }
  bool full() const { return edges_.size() >= kMostEdges || modules_.size() >= kMostModules; }

 private:
  struct Key {
    std::uint32_t from_module = 0;  // in order of arrival, as to_module
    std::uint32_t to_module = 0;
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    auto operator<=>(const Key&) const = default;
  };
  std::uint32_t number(const BuildId& module);

  std::map<BuildId, std::uint32_t> modules_;
  std::set<Key> edges_;
};

}  // namespace hodo::check
