#include "register_flow.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "branch_pointer.h"
#include "hodo/base/byte_reader.h"
#include "hodo/isa/moves.h"

namespace hodo::text {
namespace {

using isa::kNoRegister;
using isa::Move;

constexpr std::uint8_t kRax = 0;
constexpr std::uint8_t kRsp = 4;
constexpr std::uint8_t kRbp = 5;

bool is_same(const isa::Memory& a, const isa::Memory& b) {
  return a.base == b.base && a.index == b.index && a.displacement == b.displacement;
}
bool is_by_frame(const isa::Memory& memory) {
  return (memory.base == kRsp || memory.base == kRbp) && memory.index == kNoRegister;
}

// CMOVcc REG, REG and CMOVcc REG, [RIP + distance]: 0F 40 to 4F (SDM vol. 2).
struct Choice {
  std::uint8_t to = kNoRegister;
  std::uint8_t from = kNoRegister;
  std::optional<std::uint64_t> place;  // instead
};

// REX and what follows it.
struct Opcode {
  std::uint8_t rex = 0;
  std::uint8_t byte = 0;
  ByteReader rest;
};

std::optional<Opcode> opcode_of(std::span<const std::uint8_t> code) {
  ByteReader reader(code);
  auto byte = reader.read<std::uint8_t>();
  std::uint8_t rex = 0;
  if (byte && (*byte & 0xf0) == 0x40) {
    rex = *byte;
    byte = reader.read<std::uint8_t>();
  }
  if (!byte) return std::nullopt;
  return Opcode{rex, *byte, reader};
}

std::uint8_t reg_in(std::uint8_t modrm, std::uint8_t rex) {
  return static_cast<std::uint8_t>((modrm >> 3 & 7) | (rex & 4) << 1);
}
std::uint8_t rm_in(std::uint8_t modrm, std::uint8_t rex) {
  return static_cast<std::uint8_t>((modrm & 7) | (rex & 1) << 3);
}

std::optional<Choice> choice_at(std::span<const std::uint8_t> code, std::uint64_t at) {
  auto op = opcode_of(code);
  if (!op || op->byte != 0x0f) return std::nullopt;
  const auto second = op->rest.read<std::uint8_t>();
  const auto modrm = op->rest.read<std::uint8_t>();
  if (!modrm || (*second & 0xf0) != 0x40) return std::nullopt;
  Choice out{.to = reg_in(*modrm, op->rex), .from = kNoRegister, .place = {}};
  if (*modrm >> 6 == 3) {
    out.from = rm_in(*modrm, op->rex);
  } else if ((*modrm & 0xc7) == 5) {
    const auto distance = op->rest.read<std::int32_t>();
    if (!distance) return std::nullopt;
    const std::size_t length = code.size() - op->rest.remaining();
    out.place = at + length + static_cast<std::uint64_t>(std::int64_t{*distance});
  }
  return out;
}

// MOV REG, NUMBER with a number of 32 bits: B8 to BF, C7 /0.
struct Number {
  std::uint8_t to = kNoRegister;
  std::uint64_t value = 0;
};

std::optional<Number> number_at(std::span<const std::uint8_t> code) {
  auto op = opcode_of(code);
  if (!op) return std::nullopt;
  const bool wide = (op->rex & 8) != 0;
  if ((op->byte & 0xf8) == 0xb8 && !wide) {
    const auto value = op->rest.read<std::uint32_t>();
    if (!value) return std::nullopt;
    return Number{rm_in(op->byte & 7, op->rex), *value};
  }
  const auto modrm = op->byte == 0xc7 && wide ? op->rest.read<std::uint8_t>() : std::nullopt;
  const auto value = op->rest.read<std::int32_t>();
  if (!modrm || !value || (*modrm & 0xf8) != 0xc0) return std::nullopt;
  return Number{rm_in(*modrm, op->rex), static_cast<std::uint64_t>(std::int64_t{*value})};
}

// CALL rel32 and CALL REG or MEMORY: E8, FF /2.
bool is_call(std::span<const std::uint8_t> code) {
  auto op = opcode_of(code);
  if (!op || op->byte == 0xe8) return op.has_value();
  const auto modrm = op->byte == 0xff ? op->rest.read<std::uint8_t>() : std::nullopt;
  return modrm && (*modrm >> 3 & 7) == 2;
}

bool goes_on(isa::InsnClass cls) {
  using isa::InsnClass;
  return cls != InsnClass::jmp && cls != InsnClass::ijmp && cls != InsnClass::ret &&
         cls != InsnClass::far_jmp && cls != InsnClass::far_ret && cls != InsnClass::iret;
}

}  // namespace

void RegisterFlow::read(const Function& function) {
  std::vector<std::uint64_t> targets;  // by instruction; 0: none
  for (std::uint64_t at = function.begin; at < function.end && text_.contains(at); ++at) {
    if ((text_.marks(at) & kInsn) == 0) continue;
    const auto insn = isa::decode(text_.bytes(at), at, isa::Mode::bits64);
    if (!insn) continue;
    if (insns_.size() == kMostInsns) return insns_.clear();
    const bool direct = insn->cls == isa::InsnClass::cond || insn->cls == isa::InsnClass::jmp;
    targets.push_back(direct ? insn->target : 0);
    insns_.push_back({.address = at, .falls_through = goes_on(insn->cls), .target = kNone});
  }
  std::vector<bool> known(insns_.size());  // that something in the function leads there
  for (std::size_t i = 0; i < insns_.size(); ++i) {
    if (targets[i] != 0) insns_[i].target = find(targets[i]);
    if (insns_[i].target != kNone) known[insns_[i].target] = true;
    if (insns_[i].falls_through && i + 1 < insns_.size() && targets[i] != 0) known[i + 1] = true;
  }
  constexpr Marks kEntered = kStart | kTaken | kTableTarget | kLanding;
  for (std::size_t i = 0; i < insns_.size(); ++i) {
    const Marks marks = text_.marks(insns_[i].address);
    const bool behind = i > 0 && insns_[i - 1].falls_through;
    insns_[i].entered =
        (marks & kEntered) != 0 || (!known[i] && ((marks & kLeader) != 0 || !behind));
  }
}

// Where the pointer lies, and where what is stored there lay before.
void RegisterFlow::find_places(std::uint64_t call) {
  const auto pointer = branch_pointer(text_, call);
  const std::size_t at = find(call);
  if (!pointer || at == kNone) return;
  if (pointer->in == kNoRegister) {
    add_place(pointer->memory);
  } else {
    add_place_behind(at, pointer->in);
  }
  for (std::size_t done = 0; done < places_.size();) {  // which become more meanwhile
    const isa::Memory place = places_[done++];
    for (std::size_t i = 0; i < insns_.size(); ++i) {
      const std::uint64_t store = insns_[i].address;
      const auto move = isa::decode_move(text_.bytes(store), store);
      if (!move || move->what != Move::What::store) continue;
      if (is_same(move->memory, place)) add_place_behind(i, move->from);
    }
  }
}

void RegisterFlow::add_place(const isa::Memory& memory) {
  if (!is_by_frame(memory) || places_.size() == kMostPlaces) return;
  const auto same = [&](const isa::Memory& place) { return is_same(place, memory); };
  if (std::ranges::none_of(places_, same)) places_.push_back(memory);
}

// The one from which the register is loaded that the instruction uses. One jump ahead may lie
// between, as over a retpoline among the function's code.
void RegisterFlow::add_place_behind(std::size_t insn, std::uint8_t reg) {
  bool jumped = false;
  for (std::size_t i = insn; i > 0; --i) {
    if (!insns_[i - 1].falls_through && !std::exchange(jumped, true)) {
      const auto leads = [i](const Insn& from) { return from.target == i; };
      const auto jump = std::ranges::find_if(insns_, leads);
      const auto at = static_cast<std::size_t>(jump - insns_.begin());
      if (at >= i || std::any_of(std::next(jump), insns_.end(), leads)) return;
      i = at + 1;
    }
    const std::uint64_t at = insns_[i - 1].address;
    const auto move = isa::decode_move(text_.bytes(at), at);
    if (!move) return;
    if ((move->changed >> reg & 1) == 0) continue;
    if (move->what == Move::What::load) add_place(move->memory);
    return;
  }
}

std::size_t RegisterFlow::find(std::uint64_t address) const {
  const auto found = std::ranges::lower_bound(insns_, address, {}, &Insn::address);
  if (found == insns_.end() || found->address != address) return kNone;
  return static_cast<std::size_t>(found - insns_.begin());
}

std::size_t RegisterFlow::number_of(const Value& value) const {
  return static_cast<std::size_t>(std::ranges::find(values_, value) - values_.begin());
}

std::uint64_t RegisterFlow::bit_of(const std::optional<Value>& value) const {
  const std::size_t number = value ? number_of(*value) : values_.size();
  return number == values_.size() ? 0 : std::uint64_t{1} << number;
}

// That an instruction brings from elsewhere.
std::optional<RegisterFlow::Value> RegisterFlow::value_at(std::uint64_t insn) const {
  using Kind = Value::Kind;
  const auto code = text_.bytes(insn);
  if (is_call(code)) return Value{insn, Kind::returned};
  if (const auto number = number_at(code)) return Value{number->value, Kind::number};
  if (const auto choice = choice_at(code, insn)) {
    return choice->place ? std::optional(Value{*choice->place, Kind::loaded}) : std::nullopt;
  }
  const auto move = isa::decode_move(code, insn);
  if (!move || !move->memory.address) return std::nullopt;
  if (move->what == Move::What::load) return Value{*move->memory.address, Kind::loaded};
  if (move->what == Move::What::address) return Value{*move->memory.address, Kind::number};
  return std::nullopt;
}

RegisterFlow::State RegisterFlow::behind(std::uint64_t insn, const State& before) const {
  const auto code = text_.bytes(insn);
  const auto move = isa::decode_move(code, insn);
  if (!move) return {};
  State state = before;
  std::uint64_t put = bit_of(value_at(insn));
  std::uint8_t to = is_call(code) ? kRax : move->to;
  if (const auto number = number_at(code)) {
    to = number->to;
  } else if (const auto choice = choice_at(code, insn)) {
    to = choice->to;
    put |= state[to] | (choice->from != kNoRegister ? state[choice->from] : 0);
  } else if (move->what == Move::What::copy) {
    put = state[move->from];
  } else if (move->what == Move::What::load && is_by_frame(move->memory)) {
    put = in_place(move->memory, before);
  }
  for (unsigned reg = 0; reg < kRegisters; ++reg) {
    if ((move->changed >> reg & 1) != 0) state[reg] = kOther;
  }
  if (to != kNoRegister && put != 0) state[to] = put;
  for (std::size_t n = 0; n < places_.size(); ++n) {
    state[kRegisters + n] = behind(*move, places_[n], before[kRegisters + n], before);
  }
  return state;
}

// What the place holds then, which held `held`.
std::uint64_t RegisterFlow::behind(const Move& move, const isa::Memory& place, std::uint64_t held,
                                   const State& before) {
  constexpr std::int64_t kPointer = 8;
  if ((move.changed >> place.base & 1) != 0) return kOther;
  if (move.written == 0 || !is_by_frame(move.memory) || move.memory.base != place.base) return held;
  if (move.what == Move::What::store && is_same(move.memory, place)) return before[move.from];
  const std::int64_t distance = place.displacement - move.memory.displacement;
  return distance < move.written && distance > -kPointer ? kOther : held;
}

// Until nothing new comes anywhere. Each round goes along all branches that lead forwards, so that
// code that people write takes as many as it has loops in each other.
void RegisterFlow::follow() {
  states_.assign(insns_.size(), {});
  for (std::size_t i = 0; i < insns_.size(); ++i) {
    if (insns_[i].entered) states_[i].fill(kOther);
  }
  bool news = true;
  const auto arrive = [&](std::size_t at, const State& state) {
    for (std::size_t i = 0; i < state.size(); ++i) {
      news |= (state[i] & ~states_[at][i]) != 0;
      states_[at][i] |= state[i];
    }
  };
  for (unsigned round = 0; news && round < kMostRounds; ++round) {
    news = false;
    for (std::size_t i = 0; i < insns_.size(); ++i) {
      const State state = behind(insns_[i].address, states_[i]);
      if (insns_[i].falls_through && i + 1 < insns_.size()) arrive(i + 1, state);
      if (insns_[i].target != kNone) arrive(insns_[i].target, state);
    }
  }
  if (news) states_.clear();
}

std::vector<RegisterFlow::Value> RegisterFlow::before(std::uint64_t insn, unsigned reg) const {
  const std::size_t at = find(insn);
  if (at >= states_.size() || reg >= kRegisters) return {};
  return values_of(states_[at][reg]);
}

std::vector<RegisterFlow::Value> RegisterFlow::called(std::uint64_t call) const {
  const auto pointer = branch_pointer(text_, call);
  if (!pointer) return {};
  if (pointer->in != kNoRegister) return before(call, pointer->in);
  const std::size_t at = find(call);
  return at < states_.size() ? values_of(in_place(pointer->memory, states_[at]))
                             : std::vector<Value>();
}

// One of several, others can have chosen.
std::uint64_t RegisterFlow::in_place(const isa::Memory& memory, const State& state) const {
  for (std::size_t n = 0; n < places_.size(); ++n) {
    const std::uint64_t bits = state[kRegisters + n];
    if (is_same(places_[n], memory)) return std::has_single_bit(bits) ? bits & ~kOther : 0;
  }
  return 0;
}

std::vector<RegisterFlow::Value> RegisterFlow::values_of(std::uint64_t bits) const {
  std::vector<Value> out;
  for (std::size_t n = 0; n < values_.size(); ++n) {
    if ((bits >> n & 1) != 0) out.push_back(values_[n]);
  }
  return out;
}

}  // namespace hodo::text
