#include "kept_line_table.h"

#include <utility>

#include "hodo/base/numbers.h"
#include "kept_answer.h"

namespace hodo::symbol {
namespace {

constexpr std::uint64_t kLineTableVersion = 1;
constexpr std::size_t kLeastOfRow = 4;  // bytes
constexpr std::uint64_t kMostLine = ~std::uint32_t{0};

}  // namespace

std::vector<std::uint8_t> write_line_table(const LineTable& table) {
  NumberWriter out;
  out.number(kLineTableVersion);
  out.number(table.files.size());
  for (const std::string& file : table.files) out.text(file);
  out.number(table.rows.size());
  LineRow last;
  for (const LineRow& row : table.rows) {
    out.number(row.address - last.address);
    out.number(row.end - row.address);
    out.number(std::uint64_t{row.file} << 1 | (row.statement ? 1 : 0));
    out.step(last.line, row.line);
    last = row;
  }
  return out.take();
}

std::optional<LineTable> read_line_table(std::span<const std::uint8_t> bytes) {
  NumberReader in(bytes);
  if (in.number() != kLineTableVersion) return std::nullopt;
  LineTable out;
  out.files.resize(in.count());
  for (std::string& file : out.files) file = in.text();
  out.rows.resize(in.count(kLeastOfRow));
  if (out.files.empty() && !out.rows.empty()) in.refuse();
  LineRow last;
  for (LineRow& row : out.rows) {
    row.address = in.behind(last.address);
    row.end = in.behind(row.address);
    const std::uint64_t file = in.number(out.files.size() * 2 - 1);
    row.file = static_cast<std::uint32_t>(file >> 1);
    row.statement = (file & 1) != 0;
    const std::uint64_t line = in.step(last.line);
    if (line == 0 || line > kMostLine) in.refuse();
    row.line = static_cast<std::uint32_t>(line);
    if (!in.good()) return std::nullopt;
    last = row;
  }
  if (!in.at_end() || !in.good()) return std::nullopt;
  return out;
}

LineTable kept_line_table(LineStore& store, const std::function<FilesKey()>& key,
                          const std::function<LineTable()>& find) {
  return kept_answer<LineTable>(store, key, "line table", read_line_table, write_line_table,
                                [&find] {
                                  LineTable found = find();
                                  const bool none = found.rows.empty();
                                  return none ? std::nullopt : std::optional(std::move(found));
                                });
}

}  // namespace hodo::symbol
