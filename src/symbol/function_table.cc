#include "function_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "elf_records.h"
#include "hodo/base/numbers.h"
#include "kept_answer.h"

namespace hodo::symbol {
namespace {

constexpr std::uint64_t kFunctionTableVersion = 3;
constexpr std::string_view kCold = ".cold";
constexpr std::size_t kMostOfParts = std::size_t{64} << 20;  // bytes of names
constexpr std::size_t kLeastOfFunction = 4;                  // bytes
constexpr std::size_t kLeastOfMark = 2;

// The same between runs, and wherever the file is mapped.
std::string synthetic_name(std::uint64_t vaddr) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), vaddr, 16).ptr;
  return std::string(kSynthetic) + std::string(digits.begin(), end);
}

// What a symbol is, in one number.
constexpr std::uint64_t kGlobalBit = 1;
constexpr std::uint64_t kSizedBit = 2;
constexpr unsigned kKindShift = 2;
constexpr auto kLastKind = static_cast<std::uint64_t>(SymbolKind::synthetic);

void write_symbol(NumberWriter& out, const Symbol& symbol, std::uint64_t before) {
  out.number(symbol.start - before);
  out.number(symbol.size);
  out.number(static_cast<std::uint64_t>(symbol.kind) << kKindShift |
             (symbol.sized ? kSizedBit : 0) | (symbol.global ? kGlobalBit : 0));
  out.text(symbol.name);
}

std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Symbol read_symbol(NumberReader& in, std::uint64_t before) {
  Symbol symbol;
  symbol.start = in.behind(before);
  symbol.size = in.number();
  const std::uint64_t what = in.number((kLastKind << kKindShift) | kSizedBit | kGlobalBit);
  symbol.kind = static_cast<SymbolKind>(what >> kKindShift);
  symbol.sized = (what & kSizedBit) != 0;
  symbol.global = (what & kGlobalBit) != 0;
  symbol.name = text_of(in.bytes());
  if (symbol.name.empty() || symbol.name.size() > kLongestName) in.refuse();
  return symbol;
}

}  // namespace

FunctionTable::FunctionTable(std::vector<Candidate> named,
                             std::span<const SyntheticFunction> found) {
  const auto start_of = [](const Candidate& c) { return c.symbol.start; };
  const std::size_t count = named.size();
  for (const SyntheticFunction& f : found) {
    const auto same =
        std::ranges::equal_range(std::span(named).first(count), f.start, {}, start_of);
    // A name without a size, and the size.
    for (Candidate& c : same) c.symbol.size = std::max(c.symbol.size, f.size);
    if (!same.empty()) continue;
    const auto& name = texts_.emplace_back(synthetic_name(f.start));
    named.push_back(
        {.symbol = {.name = name, .start = f.start, .size = f.size, .kind = SymbolKind::synthetic},
         .origin = {.section_end = f.section_end}});
  }
  const auto middle = named.begin() + static_cast<std::ptrdiff_t>(count);
  std::ranges::inplace_merge(named, middle, {}, start_of);
  ranges_ = RangeMap(named);
  symbols_.reserve(named.size());
  for (const Candidate& c : named) symbols_.push_back(c.symbol);
  // Somebody may have made up any number of parts of functions with long names.
  std::size_t room = kMostOfParts;
  for (const SyntheticFunction& f : found) {
    if (f.part_of != 0) name_part(f, room);
  }
}

// As compilers do.
void FunctionTable::name_part(const SyntheticFunction& part, std::size_t& room) {
  const Symbol* const whole = at(part.part_of);
  const auto symbol = std::ranges::lower_bound(symbols_, part.start, {}, &Symbol::start);
  const bool is_there = symbol != symbols_.end() && symbol->start == part.start;
  if (!is_there || symbol->kind != SymbolKind::synthetic || whole == nullptr) return;
  const std::size_t length = whole->name.size() + kCold.size();
  if (whole->start == part.part_of || length > std::min(kLongestName, room)) return;
  room -= length;
  symbol->name = texts_.emplace_back(std::string(whole->name) + std::string(kCold));
  symbol->kind = whole->kind;
}

const Symbol* FunctionTable::at(std::uint64_t vaddr) const {
  const auto index = ranges_.at(vaddr);
  return index ? &symbols_[*index] : nullptr;
}

void FunctionTable::mark(const std::function<std::string_view(const Symbol&)>& mark_of) {
  for (std::uint32_t i = 0; i < symbols_.size(); ++i) {
    const std::string_view mark = mark_of(symbols_[i]);
    if (!mark.empty()) marks_.push_back({i, texts_.emplace_back(mark)});
  }
}

std::string_view FunctionTable::mark_of(const Symbol& symbol) const {
  if (symbol.global) return {};
  const auto same = std::ranges::equal_range(symbols_, symbol.start, {}, &Symbol::start);
  for (const Symbol& one : same) {
    if (one.global || one.name != symbol.name) continue;
    const auto index = static_cast<std::uint32_t>(&one - symbols_.data());
    const auto mark = std::ranges::lower_bound(marks_, index, {}, &Mark::symbol);
    if (mark != marks_.end() && mark->symbol == index) return mark->text;
  }
  return {};
}

std::vector<std::uint8_t> FunctionTable::write() const {
  NumberWriter out;
  out.number(kFunctionTableVersion);
  out.number(symbols_.size());
  std::uint64_t before = 0;
  for (const Symbol& symbol : symbols_)
    write_symbol(out, symbol, std::exchange(before, symbol.start));
  ranges_.write(out);
  out.number(marks_.size());
  std::uint32_t last = 0;
  for (const Mark& mark : marks_) {
    out.number(mark.symbol - std::exchange(last, mark.symbol));
    out.text(mark.text);
  }
  return out.take();
}

std::optional<FunctionTable> FunctionTable::read(std::vector<std::uint8_t> bytes) {
  FunctionTable out;
  out.bytes_ = std::move(bytes);
  NumberReader in(out.bytes_);
  if (in.number() != kFunctionTableVersion) return std::nullopt;
  out.symbols_.resize(in.count(kLeastOfFunction));
  std::uint64_t before = 0;
  for (Symbol& symbol : out.symbols_) {
    symbol = read_symbol(in, before);
    before = symbol.start;
    if (!in.good()) return std::nullopt;
  }
  out.ranges_ = RangeMap::read(in, out.symbols_);
  out.marks_.resize(in.count(kLeastOfMark));
  std::uint64_t last = 0;
  for (Mark& mark : out.marks_) {
    last += in.number(out.symbols_.size());
    if (last >= out.symbols_.size()) in.refuse();
    if (!in.good()) return std::nullopt;
    mark = {static_cast<std::uint32_t>(last), text_of(in.bytes())};
  }
  if (!in.at_end() || !in.good()) return std::nullopt;
  return out;
}

FunctionTable kept_function_table(LineStore& store, const std::function<FilesKey()>& key,
                                  const std::function<FunctionTable()>& make) {
  const auto read = [](std::vector<std::uint8_t> bytes) {
    return FunctionTable::read(std::move(bytes));
  };
  const auto write = [](const FunctionTable& table) { return table.write(); };
  return kept_answer<FunctionTable>(store, key, "functions", read, write, [&make] {
    FunctionTable made = make();
    return made.symbols().empty() ? std::nullopt : std::optional(std::move(made));
  });
}

}  // namespace hodo::symbol
