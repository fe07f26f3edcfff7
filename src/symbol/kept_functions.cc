#include "kept_functions.h"

#include <string_view>

#include "hodo/base/numbers.h"

namespace hodo::symbol {
namespace {

constexpr std::uint64_t kFunctionsVersion = 2;
constexpr std::size_t kLeast = 3;  // bytes that a function takes

}  // namespace

std::vector<std::uint8_t> write_functions(std::span<const SyntheticFunction> functions) {
  NumberWriter out;
  out.number(kFunctionsVersion);
  out.number(functions.size());
  std::uint64_t before = 0;
  for (const SyntheticFunction& f : functions) {
    out.number(f.start - before);
    out.number(f.size);
    out.step(f.start, f.section_end);
    before = f.start;
  }
  return out.take();
}

std::optional<std::vector<SyntheticFunction>> read_functions(std::span<const std::uint8_t> bytes) {
  NumberReader in(bytes);
  if (in.number() != kFunctionsVersion) return std::nullopt;
  std::vector<SyntheticFunction> out(in.count(kLeast));
  std::uint64_t before = 0;
  for (SyntheticFunction& f : out) {
    f.start = in.behind(before);
    if (f.start == before && &f != out.data()) in.refuse();
    f.size = in.number(~f.start);
    f.section_end = in.step(f.start);
    before = f.start;
    if (!in.good()) return std::nullopt;
  }
  if (!in.at_end() || !in.good()) return std::nullopt;
  return out;
}

std::vector<SyntheticFunction> kept_functions(
    LineStore& store, const std::function<FilesKey()>& key,
    const std::function<std::vector<SyntheticFunction>()>& find) {
  constexpr std::string_view kWhat = "functions";
  const FilesKey files = key();
  std::vector<std::uint8_t> name = files.bytes;
  name.insert(name.end(), kWhat.begin(), kWhat.end());
  if (const auto bytes = store.load(name)) {
    if (auto functions = read_functions(*bytes)) return *std::move(functions);
  }
  std::vector<SyntheticFunction> found = find();
  if (files.settled && key() == files) store.store(name, write_functions(found));
  return found;
}

}  // namespace hodo::symbol
