// What a function's own text may have put into a register: forwards along its branches, by moves
// between registers. What goes by way of memory, others can have written: so by places in its
// frame only, and only what the text stores there on every way that leads to where it is read.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hodo/isa/insn.h"
#include "hodo/isa/moves.h"
#include "hodo/text/module.h"
#include "text_map.h"

namespace hodo::text {

class RegisterFlow {
 public:
  struct Value {
    enum class Kind : std::uint8_t {
      number,    // `address` itself
      loaded,    // the word there
      returned,  // in RAX by the call there
    };
    std::uint64_t address = 0;
    Kind kind = Kind::number;
    bool operator==(const Value&) const = default;
  };
  static constexpr std::size_t kMostInsns = std::size_t{1} << 14;
  static constexpr std::size_t kMostValues = 63;
  static constexpr unsigned kMostRounds = 64;

  // Of 64-bit code. `wanted` are the values that matter: beyond kMostValues they are left out, and
  // in a function of more instructions nothing is known. `text` must outlive it.
  // `call` is the branch through a pointer whose places in the frame matter, if it is in some.
  template <class Wanted>
  RegisterFlow(const TextMap& text, const Function& function, std::uint64_t call, Wanted wanted)
      : text_(text) {
    read(function);
    find_places(call);
    for (const Insn& insn : insns_) {
      const auto value = value_at(insn.address);
      if (!value || values_.size() == kMostValues || !wanted(*value)) continue;
      if (number_of(*value) == values_.size()) values_.push_back(*value);
    }
    if (!values_.empty()) follow();
  }

  // What may be in the register before the instruction there.
  std::vector<Value> before(std::uint64_t insn, unsigned reg) const;
  // What the call leads to, where it takes its pointer from a register, or from the place.
  std::vector<Value> called(std::uint64_t call) const;

 private:
  static constexpr std::size_t kRegisters = 16;
  static constexpr std::size_t kMostPlaces = 4;
  // By register, and then by place: bits by number of values, and kOther.
  using State = std::array<std::uint64_t, kRegisters + kMostPlaces>;
  static constexpr std::uint64_t kOther = std::uint64_t{1} << kMostValues;  // or what else
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Insn {
    std::uint64_t address = 0;
    bool falls_through = true;
    bool entered = false;        // from elsewhere than by the function's direct branches
    std::size_t target = kNone;  // of a direct branch within the function
  };
  void read(const Function& function);
  void find_places(std::uint64_t call);
  void add_place(const isa::Memory& memory);
  void add_place_behind(std::size_t insn, std::uint8_t reg);
  void follow();
  std::size_t find(std::uint64_t address) const;
  std::size_t number_of(const Value& value) const;
  std::uint64_t bit_of(const std::optional<Value>& value) const;
  std::optional<Value> value_at(std::uint64_t insn) const;
  State behind(std::uint64_t insn, const State& before) const;
  std::uint64_t in_place(const isa::Memory& memory, const State& state) const;
  static std::uint64_t behind(const isa::Move& move, const isa::Memory& place, std::uint64_t held,
                              const State& before);
  std::vector<Value> values_of(std::uint64_t bits) const;

  const TextMap& text_;
  std::vector<Insn> insns_;  // by address
  std::vector<State> states_;
  std::vector<Value> values_;
  std::vector<isa::Memory> places_;
};

}  // namespace hodo::text
