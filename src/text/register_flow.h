// What a function's own text may have put into a register: forwards along its branches, by moves
// between registers alone. What goes by way of memory, others can have written.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hodo/isa/insn.h"
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
  static constexpr std::size_t kMostValues = 64;
  static constexpr unsigned kMostRounds = 64;

  // Of 64-bit code. `wanted` are the values that matter: beyond kMostValues they are left out, and
  // in a function of more instructions nothing is known. `text` must outlive it.
  template <class Wanted>
  RegisterFlow(const TextMap& text, const Function& function, Wanted wanted) : text_(text) {
    read(function);
    for (const Insn& insn : insns_) {
      const auto value = value_at(insn.address);
      if (!value || values_.size() == kMostValues || !wanted(*value)) continue;
      if (number_of(*value) == values_.size()) values_.push_back(*value);
    }
    if (!values_.empty()) follow();
  }

  // What may be in the register before the instruction there.
  std::vector<Value> before(std::uint64_t insn, unsigned reg) const;

 private:
  using State = std::array<std::uint64_t, 16>;  // by register: bits by number of values
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Insn {
    std::uint64_t address = 0;
    bool falls_through = true;
    std::size_t target = kNone;  // of a direct branch within the function
  };
  void read(const Function& function);
  void follow();
  std::size_t find(std::uint64_t address) const;
  std::size_t number_of(const Value& value) const;
  std::uint64_t bit_of(const std::optional<Value>& value) const;
  std::optional<Value> value_at(std::uint64_t insn) const;
  State behind(std::uint64_t insn, State state) const;

  const TextMap& text_;
  std::vector<Insn> insns_;  // by address
  std::vector<State> states_;
  std::vector<Value> values_;
};

}  // namespace hodo::text
