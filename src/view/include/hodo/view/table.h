// Aligned columns for people.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hodo/view/output.h"
#include "hodo/view/style.h"

namespace hodo::view {

enum class Align : unsigned char { left, right };
// What of a cell goes that is too wide: its end, its beginning, or what fit_name takes.
enum class Cut : unsigned char { end, beginning, name };

struct Column {
  std::string title;
  Align align = Align::left;
  Tone tone = Tone::plain;
  bool shrinks = false;  // gives way when the table is wider than the terminal
  Cut cut = Cut::end;
};

// Rows of printable text. Columns are as wide as their widest cell; when the whole does not fit
// `style.columns`, the shrinking columns are cut, the widest first, down to 12 characters.
class Table {
 public:
  explicit Table(std::vector<Column> columns);
  // Missing cells are empty, surplus ones are dropped.
  void add(std::vector<std::string> cells);
  bool empty() const { return cells_.empty(); }
  // The table, each line after `indent` spaces, trailing blanks removed.
  std::string render(const Style& style, std::size_t indent = 2) const;
  // The same, a line at a time.
  void write(const Style& style, Output& out, std::size_t indent = 2) const;

 private:
  std::vector<std::size_t> layout(std::size_t available) const;

  std::vector<Column> columns_;
  std::vector<std::size_t> widest_;  // of each column's cells and title
  std::string cells_;                // a NUL behind each: there may be a million rows
};

}  // namespace hodo::view
