#include "asked_names.h"

#include <algorithm>
#include <span>

#include "branch_pointer.h"
#include "hodo/base/byte_reader.h"
#include "hodo/isa/moves.h"
#include "hodo/text/names.h"

namespace hodo::text {
namespace {

constexpr unsigned kRsi = 6;
constexpr std::size_t kStoreLength = 7;

void append(std::vector<std::string_view>& to, const std::vector<std::string_view>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

std::vector<std::string_view> AskedNames::of(std::uint64_t insn) const {
  const auto pointer = branch_pointer(text_, insn);
  const Function* f = module_.function(insn);
  if (!pointer || f == nullptr) return {};
  if (pointer->in == isa::kNoRegister && pointer->memory.address) {
    return stored_in(*pointer->memory.address);
  }
  const RegisterFlow flow(text_, *f, insn, [&](const Value& value) {
    return value.kind == Value::Kind::loaded || is_of_asking(value);
  });
  std::vector<std::string_view> out;
  for (const Value& value : flow.called(insn)) {
    if (value.kind == Value::Kind::loaded) append(out, stored_in(value.address));
    if (value.kind == Value::Kind::returned) append(out, returned_by(flow, value.address));
  }
  return out;
}

// MOV [RIP + distance], REG: REX.W 89 /r (SDM vol. 2).
std::vector<AskedNames::Store> AskedNames::stores_to(std::uint64_t place) const {
  std::vector<Store> out;
  for (const TextMap::Stretch& stretch : text_.stretches()) {
    const auto bytes = stretch.bytes;
    for (std::size_t i = 0; i < bytes.size() && bytes.size() - i >= kStoreLength; ++i) {
      if ((bytes[i] & 0xfb) != 0x48 || bytes[i + 1] != 0x89 || (bytes[i + 2] & 0xc7) != 5) continue;
      const auto distance = ByteReader(bytes.subspan(i + 3)).read<std::int32_t>();
      const std::uint64_t at = stretch.begin + i;
      const auto behind = static_cast<std::uint64_t>(std::int64_t{distance.value_or(0)});
      if (at + kStoreLength + behind != place || (text_.marks(at) & kInsn) == 0) continue;
      out.push_back({at, (bytes[i + 2] >> 3 & 7u) | (bytes[i] & 4u) << 1});
    }
  }
  return out;
}

std::vector<std::string_view> AskedNames::stored_in(std::uint64_t place) const {
  std::vector<std::string_view> out;
  for (const Store& store : stores_to(place)) {
    const Function* f = module_.function(store.insn);
    if (f == nullptr) continue;
    const RegisterFlow flow(text_, *f, store.insn,
                            [&](const Value& value) { return is_of_asking(value); });
    for (const Value& value : flow.before(store.insn, store.reg)) {
      if (value.kind == Value::Kind::returned) append(out, returned_by(flow, value.address));
    }
  }
  return out;
}

// What a call of dlsym returns, or the address of a name.
bool AskedNames::is_of_asking(const Value& value) const {
  if (value.kind == Value::Kind::returned) return asks(value.address);
  return value.kind == Value::Kind::number && !sensitive_name_at(value.address).empty();
}

// The names that the call may be given as its second argument.
std::vector<std::string_view> AskedNames::returned_by(const RegisterFlow& flow,
                                                      std::uint64_t call) const {
  std::vector<std::string_view> out;
  for (const Value& value : flow.before(call, kRsi)) {
    const bool number = value.kind == Value::Kind::number;
    const std::string_view name = number ? sensitive_name_at(value.address) : std::string_view();
    if (!name.empty()) out.push_back(name);
  }
  return out;
}

bool AskedNames::asks(std::uint64_t call) const {
  const auto is_dlsym = [](std::string_view name) { return name == "dlsym" || name == "dlvsym"; };
  if (const Slot* slot = module_.slot_of(call)) return is_dlsym(slot->name);
  if (const auto insn = module_.insn(call); insn && insn->cls == isa::InsnClass::call) {
    const auto pointer = branch_pointer(text_, call);
    return is_dlsym(pointer ? name_loaded(call, pointer->in) : module_.callee_name(insn->target));
  }
  const auto held = module_.slots_held(call);
  return std::ranges::any_of(held, [&](const Slot* slot) { return is_dlsym(slot->name); });
}

// Of the slot that was loaded last into the register by which a retpoline is called, or into the
// one that it was copied from.
std::string_view AskedNames::name_loaded(std::uint64_t call, std::uint8_t reg) const {
  constexpr std::uint64_t kReach = 256;
  for (std::uint64_t back = 1; back <= std::min(kReach, call); ++back) {
    const std::uint64_t at = call - back;
    if ((text_.marks(at) & kInsn) == 0) continue;
    const auto move = isa::decode_move(text_.bytes(at), at);
    if (!move || (move->changed >> reg & 1) == 0) continue;
    if (move->what == isa::Move::What::copy) {
      reg = move->from;
      continue;
    }
    const bool loads = move->what == isa::Move::What::load && move->memory.address;
    const Slot* const slot = loads ? module_.slot_at(*move->memory.address) : nullptr;
    return slot == nullptr ? std::string_view() : slot->name;
  }
  return {};
}

// Ended by a zero, where nothing can be written to.
std::string_view AskedNames::sensitive_name_at(std::uint64_t vaddr) const {
  constexpr std::size_t kLongest = 64;
  if (!elf_.is_constant(vaddr)) return {};
  const auto bytes = elf_.at(vaddr);
  const auto some = bytes.first(std::min(bytes.size(), kLongest));
  const auto end = std::ranges::find(some, 0);
  if (end == some.begin() || end == some.end()) return {};
  const std::string_view text(reinterpret_cast<const char*>(some.data()),
                              static_cast<std::size_t>(end - some.begin()));
  return is_sensitive(text) ? text : std::string_view();
}

}  // namespace hodo::text
