#include "hodo/view/table.h"

#include <algorithm>

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

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::layout(std::size_t available) const {
  std::vector<std::size_t> widths;
  std::size_t total = 0;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = width(columns_[c].title);
    for (const auto& row : rows_) widest = std::max(widest, width(row[c]));
    widths.push_back(widest);
    total += widest + (c == 0 ? 0 : kGap);
  }
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
  std::size_t available = style.columns > indent ? style.columns - indent : 0;
  std::vector<std::size_t> widths = layout(available);
  std::string out;
  auto line = [&](auto&& cell, auto&& tone) {
    out.append(indent, ' ');
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (c != 0) out.append(kGap, ' ');
      std::string text = fit_cell(cell(c), widths[c], columns_[c].cut);
      // Padding stays outside the colour, so that end_line() can take trailing blanks away.
      std::string padded = pad(text, widths[c], columns_[c].align);
      std::size_t at = columns_[c].align == Align::right ? padded.size() - text.size() : 0;
      padded.replace(at, text.size(), style.paint(tone(c), text));
      out += padded;
    }
    end_line(out);
  };
  bool titled = std::ranges::any_of(columns_, [](const Column& c) { return !c.title.empty(); });
  if (titled) {
    line([&](std::size_t c) { return columns_[c].title; }, [](std::size_t) { return Tone::dim; });
  }
  for (const auto& row : rows_) {
    line([&](std::size_t c) { return row[c]; }, [&](std::size_t c) { return columns_[c].tone; });
  }
  return out;
}

}  // namespace hodo::view
