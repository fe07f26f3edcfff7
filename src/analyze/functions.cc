#include "functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "hodo/base/last_component.h"

namespace hodo::analyze {
namespace {

constexpr std::size_t kKnownAddresses = std::size_t{1} << 20;

// setjmp and sigsetjmp are macros of the C library's header: the functions have other names.
bool sets_jump(std::string_view symbol) {
  symbol.remove_prefix(std::min(symbol.find_first_not_of('_'), symbol.size()));
  return symbol == "setjmp" || symbol == "sigsetjmp";
}

std::string name_without_symbol(const session::Place& place, std::uint64_t address, bool called) {
  if (place.object.empty()) return called ? fmt::format("[{:#x}]", address) : "[unknown]";
  std::string_view object = last_component(place.object);
  if (object.starts_with('[') && object.ends_with(']')) {
    object = object.substr(1, object.size() - 2);
  }
  return called ? fmt::format("[{}+{:#x}]", object, place.offset) : fmt::format("[{}]", object);
}

}  // namespace

std::string without_cold(std::string name) {
  constexpr std::string_view kDemangled = " [clone .cold";
  constexpr std::string_view kPlain = ".cold";
  std::size_t at = name.find(kDemangled);
  if (at == std::string::npos) {
    at = name.find(kPlain);
    bool ends = at != std::string::npos &&
                (at + kPlain.size() == name.size() || name[at + kPlain.size()] == '.');
    if (!ends) return name;
  }
  name.erase(at);
  return name;
}

Functions::Functions(const session::Names& names)
    : Functions(names, std::make_shared<std::mutex>()) {}

Functions::Functions(const session::Names& names, std::shared_ptr<std::mutex> asking)
    : names_(names), asking_(std::move(asking)), recent_(kRecent) {
  intern("[other]", "");
}

std::uint32_t Functions::intern(const std::string& name, const std::string& object,
                                bool synthetic) {
  auto it = numbers_.find({name, object});
  if (it != numbers_.end()) return it->second;
  if (functions_.size() == kMost) return 0;
  auto number = static_cast<std::uint32_t>(functions_.size());
  numbers_.emplace(std::pair(name, object), number);
  functions_.push_back({name, object, synthetic});
  return number;
}

void Functions::ask(std::uint32_t space, std::uint64_t time) {
  const std::lock_guard lock(*asking_);
  asked_ = Asked{space, time, names_.naming(space, time)};
}

const Located& Functions::find_known(const Key& key, std::uint64_t time, std::uint32_t naming) {
  auto it = known_.find(key);
  if (it != known_.end() && it->second.naming == naming) return it->second.located;
  if (known_.size() >= kKnownAddresses) known_.clear();
  Known& known = known_[key];
  known = {look_up(key, time), naming};
  return known.located;
}

const symbol::Symbol* Functions::known_symbol_at(std::uint32_t space, std::uint64_t address,
                                                 std::uint64_t time) const {
  const session::Object object = names_.object(space, address, time);
  if (object.table == nullptr) return nullptr;
  const auto vaddr = object.table->elf().vaddr_of(object.offset);
  return vaddr ? object.table->function_at(*vaddr) : nullptr;
}

const symbol::Symbol* Functions::symbol_at(std::uint32_t space, std::uint64_t address,
                                           std::uint64_t time) const {
  const std::lock_guard lock(*asking_);
  return known_symbol_at(space, address, time);
}

bool Functions::one_has(std::uint32_t space, std::uint64_t line, const Branch& jump) const {
  const auto at = [&](std::uint64_t address) { return known_symbol_at(space, address, jump.time); };
  const std::lock_guard lock(*asking_);
  if (const symbol::Symbol* const function = at(jump.from); function != nullptr)
    return function == at(jump.to) && function == at(line);
  const auto nameless = [&](std::uint64_t address) {
    return nameless_object(space, address, jump.time);
  };
  const std::string object = nameless(jump.from);
  return !object.empty() && object == nameless(jump.to) && object == nameless(line);
}

std::string Functions::nameless_object(std::uint32_t space, std::uint64_t address,
                                       std::uint64_t time) const {
  if (names_.may_name_more(space)) return {};
  session::Place place = names_.place(space, address, time);
  return place.symbol.empty() ? std::move(place.object) : std::string();
}

bool Functions::is_nameless(std::uint32_t space, std::uint64_t address, std::uint64_t time) const {
  const std::lock_guard lock(*asking_);
  return !nameless_object(space, address, time).empty();
}

std::vector<CodeRange> Functions::calls_landing_at(std::uint32_t space, std::uint64_t pad,
                                                   std::uint64_t time) const {
  const std::lock_guard lock(*asking_);
  const session::Object object = names_.object(space, pad, time);
  const auto vaddr =
      object.table == nullptr ? std::nullopt : object.table->elf().vaddr_of(object.offset);
  if (!vaddr) return {};
  std::vector<CodeRange> out;
  const std::uint64_t moved = pad - *vaddr;
  const auto pads = object.table->landing_pads();
  for (const auto& l : std::ranges::equal_range(pads, *vaddr, {}, &image::LandingPad::pad)) {
    out.push_back({l.begin + moved, l.end + moved});
  }
  return out;
}

session::Place Functions::place_of(const Key& key, std::uint64_t time) const {
  const std::lock_guard lock(*asking_);
  return names_.place(key.space, key.address, time);
}

Located Functions::look_up(const Key& key, std::uint64_t time) {
  const session::Place place = place_of(key, time);
  Located out{.object = intern("", place.object)};
  if (place.symbol.empty()) {
    out.function = intern(name_without_symbol(place, key.address, key.called), place.object);
    return out;
  }
  session::Place whole = place;
  whole.symbol = without_cold(place.symbol);
  out.function = intern(full_name(whole), place.object, place.synthetic);
  out.start = key.address - place.offset;
  out.size = place.size == 0 ? place.offset + 1 : place.size;
  out.entry = place.offset == 0;
  out.stub = place.stub;
  out.resolver = place.symbol.starts_with("_dl_runtime_resolve");
  out.sets_jump = !out.stub && sets_jump(place.symbol);
  return out;
}

}  // namespace hodo::analyze
