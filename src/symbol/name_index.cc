#include "name_index.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "hodo/symbol/demangle.h"

namespace hodo::symbol {
namespace {

std::uint64_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }

// A stub is not the function it leads to: it wants the suffix.
template <class Each>
void for_each_spelling(const Symbol& symbol, Each each) {
  constexpr std::string_view kStub = "@plt";
  std::string_view name = symbol.name;
  const bool stub = symbol.kind == SymbolKind::plt;
  if (stub && name.ends_with(kStub)) name.remove_suffix(kStub.size());
  for (std::string& spelling : spellings(demangle(name))) {
    each(stub ? spelling.append(kStub) : spelling);
  }
}

}  // namespace

std::vector<Symbol> NameIndex::find(std::string_view name) {
  name_all();
  std::vector<Symbol> found;
  const auto same = std::ranges::equal_range(named_, hash_of(name), {}, &Named::hash);
  for (const Named& one : same) {
    if (symbols_[one.symbol].name == name) found.push_back(symbols_[one.symbol]);
  }
  return found.empty() ? spelled_as(name) : found;
}

std::vector<std::uint32_t> NameIndex::by_name() {
  name_all();
  std::vector<std::uint32_t> out;
  out.reserve(named_.size());
  for (const Named& one : named_) out.push_back(one.symbol);
  return out;
}

void NameIndex::name_all() {
  std::call_once(named_once_, [this] {
    named_.reserve(symbols_.size());
    for (std::uint32_t i = 0; i < symbols_.size(); ++i) {
      named_.push_back({hash_of(symbols_[i].name), i});
    }
    std::ranges::sort(named_, [this](const Named& a, const Named& b) {
      if (a.hash != b.hash) return a.hash < b.hash;
      return std::pair(symbols_[a.symbol].name, a.symbol) <
             std::pair(symbols_[b.symbol].name, b.symbol);
    });
  });
}

void NameIndex::spell_all() {
  for (std::uint32_t i = 0; i < symbols_.size(); ++i) {
    for_each_spelling(symbols_[i], [&](std::string_view spelling) {
      if (spelling != symbols_[i].name) spelled_.push_back({hash_of(spelling), i});
    });
  }
  std::ranges::sort(spelled_);
  spelled_.shrink_to_fit();
}

std::vector<Symbol> NameIndex::spelled_as(std::string_view wanted) {
  std::call_once(spelled_once_, [this] { spell_all(); });
  std::vector<Symbol> found;
  const auto same = std::ranges::equal_range(spelled_, hash_of(wanted), {}, &Named::hash);
  for (const Named& one : same) {
    bool is = false;
    for_each_spelling(symbols_[one.symbol], [&](std::string_view s) { is |= s == wanted; });
    if (is) found.push_back(symbols_[one.symbol]);
  }
  return found;
}

}  // namespace hodo::symbol
