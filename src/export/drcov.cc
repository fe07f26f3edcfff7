#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "writers.h"

namespace hodo::exports {
namespace {

using analyze::CoveredBlock;
using analyze::CoveredModule;

constexpr std::size_t kMostModules = 65535;  // 16 bits, and the last number stands for "unknown"
constexpr std::uint32_t kLargestBlock = 65535;

// Carriage returns and newlines would break the table.
std::string one_line(std::string path) {
  std::ranges::replace_if(path, [](char c) { return c == '\n' || c == '\r'; }, '?');
  return path.empty() ? "[unknown]" : path;
}

enum class Version : std::uint8_t { v2 = 2, v3 = 3 };

class Drcov {
 public:
  explicit Drcov(Version version) : version_(version) {}

  void add(const CoveredModule& module) {
    if (module.file) {
      std::size_t number =
          add_module(module.path, module.base, module.base + module.size, module.lowest);
      for (const CoveredBlock& b : module.blocks) add_block(b, b.address - module.lowest, number);
      return;
    }
    std::map<std::uint64_t, std::size_t> windows;
    for (const CoveredBlock& b : module.blocks) {
      std::uint64_t base = b.address >> 32 << 32;
      auto [it, fresh] = windows.try_emplace(base);
      if (fresh) it->second = add_module(module.path, base, base + (std::uint64_t{1} << 32), base);
      add_block(b, b.address - base, it->second);
    }
  }

  std::string text() const {
    bool v3 = version_ == Version::v3;
    std::string out = fmt::format("DRCOV VERSION: {}\nDRCOV FLAVOR: drcov-64\n", v3 ? 3 : 2);
    out += fmt::format("Module Table: version {}, count {}\n", v3 ? 5 : 4, modules_);
    out += "Columns: id, containing_id, start, end, entry, offset, ";
    out += v3 ? "preferred_base, path\n" : "path\n";
    return out + table_ + fmt::format("BB Table: {} bbs\n", blocks_.size() / 8) + blocks_;
  }

 private:
  std::size_t add_module(const std::string& path, std::uint64_t base, std::uint64_t end,
                         std::uint64_t preferred) {
    if (modules_ == kMostModules) return kMostModules;
    auto out = std::back_inserter(table_);
    fmt::format_to(out, "{:>3}, {:>3}, {:#018x}, {:#018x}, {:#018x}, {:#018x}, ", modules_,
                   modules_, base, end, 0, 0);
    if (version_ == Version::v3) fmt::format_to(out, "{:#018x}, ", preferred);
    table_ += one_line(path) + "\n";
    return modules_++;
  }

  void add_block(const CoveredBlock& block, std::uint64_t offset, std::size_t module) {
    if (block.count == 0 || module == kMostModules || offset >> 32 != 0) return;
    for (std::uint32_t at = 0; at < block.size; at += kLargestBlock) {
      put(static_cast<std::uint32_t>(offset) + at, 4);
      put(std::min(block.size - at, kLargestBlock), 2);
      put(static_cast<std::uint32_t>(module), 2);
    }
  }
  void put(std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) blocks_ += static_cast<char>(value >> 8 * i & 0xff);
  }

  Version version_;
  std::size_t modules_ = 0;
  std::string table_;
  std::string blocks_;
};

std::string drcov(const analyze::Coverage& coverage, Version version) {
  Drcov out(version);
  for (const CoveredModule& module : coverage.modules) out.add(module);
  return out.text();
}

}  // namespace

std::string drcov2(const analyze::Coverage& coverage, const CoverageOptions&) {
  return drcov(coverage, Version::v2);
}

std::string drcov3(const analyze::Coverage& coverage, const CoverageOptions&) {
  return drcov(coverage, Version::v3);
}

}  // namespace hodo::exports
