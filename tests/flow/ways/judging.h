// A sink that judges branches and hears of passages, and of paths that come again.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "told.h"

namespace hodo::flow::ways {

// Judges branches by themselves: some always come, the others pass when they have come once. What
// it goes by changes with time or, with `code`, only where the code at one of the ends is mapped
// anew. Some returns hang on their ends alone. Repeats are wanted, too, or not.
struct Judging : Told {
  Judging(const image::CodeSource* by, bool repeats) : code(by), repeats(repeats) {}

  std::string wrong;  // with what was told
  std::size_t passed = 0;

  bool wants_passages() const override { return true; }
  std::uint64_t judged_by(std::uint64_t time) override { return code ? 0 : time / 16 % 3; }
  Judged judged(const Branch& b, std::uint64_t next) override;
  void on_branches(std::span<const Branch>) override { wrong = "branches without passages"; }
  void on_passages(const Passages& batch) override;
  bool wants_repeats() const override { return repeats; }
  void on_repeats(const Repeats& batch) override;

 protected:
  // One that is in no passage.
  void come(const Branch& b);
  std::mutex mutex;  // others ask while this is told

 private:
  using End = std::pair<std::uint64_t, std::uint64_t>;  // what it goes by, and an address
  using Key = std::tuple<End, End, BranchKind>;

  End end(std::uint64_t address, std::uint64_t time);
  bool is_plain(const End& end) const;
  Key key_of(const Branch& b) { return {end(b.from, b.time), end(b.to, b.time), b.kind}; }
  bool is_apart(const Key& key) const;
  bool may_pass_apart(const Key& key) const;
  void take(const Passages& batch, const Passage& passage, std::size_t entry, std::size_t address);
  void follow(std::span<const Branch> row, std::span<const std::uint64_t> returned,
              std::span<const std::uint64_t> called);

  const image::CodeSource* code;
  bool repeats;
  Paths paths;
  std::map<Key, std::uint64_t> came;  // and what is behind it, if it may pass
  std::set<End> from;                 // of returns that pass apart,
  std::set<End> to;
};

}  // namespace hodo::flow::ways
