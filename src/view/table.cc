#include "hodo/view/table.h"

#include <algorithm>
#include <string_view>

#include "hodo/view/text.h"

namespace hodo::view {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 12;

std::string pad(const std::string& text, std::size_t columns, Align align) {
  std::size_t blanks = columns > width(text) ? columns - width(text) : 0;
  if (align == Align::right) return std::string(blanks, ' ') + text;
  return text + std::string(blanks, ' ');
}

std::string fit_cell(const std::string& text, std::size_t columns, Cut cut) {
  switch (cut) {
    case Cut::end:
      return fit(text, columns);
    case Cut::beginning:
      return fit_end(text, columns);
    case Cut::name:
      break;
  }
  return fit_name(text, columns);
}

void end_line(std::string& out) {
  while (!out.empty() && out.back() == ' ') out.pop_back();
  out += '\n';
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (const Column& column : columns_) widest_.push_back(width(column.title));
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const char* const cell = cells[c].c_str();  // a NUL ends it, as it parts cells
    widest_[c] = std::max(widest_[c], width(cell));
    cells_.append(cell).push_back('\0');
  }
}

std::vector<std::size_t> Table::layout(std::size_t available) const {
  std::vector<std::size_t> widths = widest_;
  std::size_t total = 0;
  for (std::size_t c = 0; c < widths.size(); ++c) total += widths[c] + (c == 0 ? 0 : kGap);
  while (total > available) {
    std::size_t victim = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      bool can = columns_[c].shrinks && widths[c] > kNarrowest;
      if (can && (victim == columns_.size() || widths[c] > widths[victim])) victim = c;
    }
    if (victim == columns_.size()) break;
    --widths[victim];
    --total;
  }
  return widths;
}

std::string Table::render(const Style& style, std::size_t indent) const {
  Output out;
  write(style, out, indent);
  return out.take();
}

void Table::write(const Style& style, Output& out, std::size_t indent) const {
  std::size_t available = style.columns > indent ? style.columns - indent : 0;
  std::vector<std::size_t> widths = layout(available);
  std::string text;
  auto line = [&](auto&& cell, auto&& tone) {
    text.assign(indent, ' ');
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (c != 0) text.append(kGap, ' ');
      std::string fitted = fit_cell(cell(c), widths[c], columns_[c].cut);
      // Padding stays outside the colour, so that end_line() can take trailing blanks away.
      std::string padded = pad(fitted, widths[c], columns_[c].align);
      std::size_t at = columns_[c].align == Align::right ? padded.size() - fitted.size() : 0;
      padded.replace(at, fitted.size(), style.paint(tone(c), fitted));
      text += padded;
    }
    end_line(text);
    out.write(text);
  };
  bool titled = std::ranges::any_of(columns_, [](const Column& c) { return !c.title.empty(); });
  if (titled) {
    line([&](std::size_t c) { return columns_[c].title; }, [](std::size_t) { return Tone::dim; });
  }
  const char* next = cells_.data();
  while (next != cells_.data() + cells_.size() && out.ok()) {
    const auto cell = [&next](std::size_t) {
      std::string_view one(next);
      next += one.size() + 1;
      return std::string(one);
    };
    line(cell, [&](std::size_t c) { return columns_[c].tone; });
  }
}

}  // namespace hodo::view
