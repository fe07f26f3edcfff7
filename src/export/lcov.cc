#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "writers.h"

namespace hodo::exports {
namespace {

using analyze::CoveredBranch;
using analyze::CoveredFunction;
using analyze::CoveredLine;
using analyze::CoveredModule;

struct Function {
  std::uint32_t line = 0;
  std::uint64_t count = 0;
};

// What all modules say about one source file.
struct Source {
  std::map<std::string, Function> functions;  // by name
  std::map<std::uint32_t, std::uint64_t> lines;
  std::map<std::uint32_t, std::vector<CoveredBranch>> branches;  // by line
};

// A name with a comma or a newline would end its field early.
std::string field(std::string text) {
  std::ranges::replace_if(text, [](char c) { return c == ',' || c == '\n' || c == '\r'; }, '_');
  return text;
}

void append_functions(std::string& out, const Source& source) {
  auto to = std::back_inserter(out);
  std::size_t hit = 0;
  for (const auto& [name, f] : source.functions) fmt::format_to(to, "FN:{},{}\n", f.line, name);
  for (const auto& [name, f] : source.functions) {
    fmt::format_to(to, "FNDA:{},{}\n", f.count, name);
    hit += f.count != 0;
  }
  fmt::format_to(to, "FNF:{}\nFNH:{}\n", source.functions.size(), hit);
}

// A conditional branch is a block of its own with two ways out; "-" says that it was not reached.
void append_branches(std::string& out, const Source& source) {
  auto to = std::back_inserter(out);
  std::size_t found = 0;
  std::size_t hit = 0;
  for (const auto& [line, branches] : source.branches) {
    std::size_t number = 0;
    for (const CoveredBranch& b : branches) {
      bool reached = b.taken + b.not_taken != 0;
      int way = 0;
      for (std::uint64_t count : {b.taken, b.not_taken}) {
        std::string times = reached ? std::to_string(count) : "-";
        fmt::format_to(to, "BRDA:{},{},{},{}\n", line, number, way++, times);
        ++found;
        hit += count != 0;
      }
      ++number;
    }
  }
  if (found != 0) fmt::format_to(to, "BRF:{}\nBRH:{}\n", found, hit);
}

// Compilers place branches in lines that have no statement of their own. Readers want a count of
// each line that has a branch: how often the most executed one of them ran.
void count_lines_of_branches(Source& source) {
  for (const auto& [line, branches] : source.branches) {
    const auto [at, fresh] = source.lines.try_emplace(line, 0);
    if (!fresh) continue;
    for (const CoveredBranch& b : branches) {
      at->second = std::max(at->second, b.taken + b.not_taken);
    }
  }
}

void append_lines(std::string& out, const Source& source) {
  auto to = std::back_inserter(out);
  std::size_t hit = 0;
  for (auto [line, count] : source.lines) {
    fmt::format_to(to, "DA:{},{}\n", line, count);
    hit += count != 0;
  }
  fmt::format_to(to, "LF:{}\nLH:{}\n", source.lines.size(), hit);
}

}  // namespace

std::string lcov(const analyze::Coverage& coverage, const CoverageOptions& options) {
  std::map<std::string, Source> sources;
  for (const CoveredModule& module : coverage.modules) {
    std::vector<Source*> files;  // null: not wanted
    files.reserve(module.files.size());
    for (const std::string& path : module.files) {
      files.push_back(!options.wanted || options.wanted(path) ? &sources[path] : nullptr);
    }
    auto source = [&](std::uint32_t file) { return file < files.size() ? files[file] : nullptr; };
    for (const CoveredFunction& f : module.functions) {
      if (f.line == 0 || source(f.file) == nullptr) continue;
      Function& sum = source(f.file)->functions[field(f.name)];
      sum.line = f.line;
      sum.count += f.entered != 0 || f.blocks_hit == 0 ? f.entered : 1;
    }
    for (const CoveredLine& line : module.lines) {
      if (Source* s = source(line.file)) s->lines[line.line] += line.count;
    }
    for (const CoveredBranch& b : module.branches) {
      if (Source* s = source(b.file)) s->branches[b.line].push_back(b);
    }
  }
  std::string out = "TN:\n";
  for (auto& [path, source] : sources) {
    count_lines_of_branches(source);
    if (source.lines.empty()) continue;
    out += "SF:" + path + "\n";
    append_functions(out, source);
    append_branches(out, source);
    append_lines(out, source);
    out += "end_of_record\n";
  }
  return out;
}

}  // namespace hodo::exports
