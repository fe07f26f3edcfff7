#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "arguments.h"
#include "hodo/isa/uses.h"

namespace hodo::text {
namespace {

constexpr std::uint8_t kRcx = 1;
constexpr std::uint8_t kRsp = 4;
constexpr std::uint8_t kRbp = 5;

// Most of what it tells does not depend on ECX (SDM vol. 2A, CPUID), so that compilers leave there
// what they like.
bool is_cpuid(std::span<const std::uint8_t> code) {
  return code.size() >= 2 && code[0] == 0x0f && code[1] == 0xa2;
}

// Where the arguments are that a path has not read yet. Of what two paths have in different places
// nothing is known where they meet.
struct Reading {
  std::uint8_t pointers = 0, values = 0;               // not read yet
  std::array<std::uint16_t, kRegisterArguments> in{};  // registers that hold it
  // The function's variables that do, by distance from RBP, once that is the frame's.
  std::vector<std::pair<std::int64_t, std::uint8_t>> kept;
  bool framed = false;

  void meet(const Reading& other) {
    pointers |= other.pointers;
    values |= other.values;
    for (std::size_t i = 0; i < in.size(); ++i) in[i] &= other.in[i];
    std::erase_if(kept, [&](const auto& one) {
      return std::ranges::find(other.kept, one) == other.kept.end();
    });
    framed = framed && other.framed;
  }
};

class FunctionReading {
 public:
  FunctionReading(const TextMap& text, const Function& function)
      : text_(text), function_(function) {}

  ArgumentsRead result() {
    Reading first{.pointers = kAll, .values = kAll};
    for (std::size_t i = 0; i < kArgumentRegisters.size(); ++i) {
      first.in[i] = static_cast<std::uint16_t>(1u << kArgumentRegisters[i]);
    }
    waiting_.emplace(function_.begin, std::move(first));
    // By address, so that all paths to a place have come there.
    for (int n = 0; !waiting_.empty() && (unread_ & unpointed_) != kAll; ++n) {
      auto next = waiting_.extract(waiting_.begin());
      if (n == kMostInsns) {
        end(next.mapped());
        break;
      }
      step(next.key(), std::move(next.mapped()));
    }
    for (const auto& [at, reading] : waiting_) end(reading);
    return {.pointers = static_cast<std::uint8_t>(kAll & ~unpointed_),
            .values = static_cast<std::uint8_t>(kAll & ~unread_)};
  }

 private:
  static constexpr std::uint8_t kAll = 0x3f;
  static constexpr int kMostInsns = 256;

  void end(const Reading& reading) {
    unpointed_ |= reading.pointers;
    unread_ |= reading.values;
  }

  void go_on(std::uint64_t from, std::uint64_t to, Reading reading) {
    const bool ahead = to > from && to > function_.begin && to < function_.end;
    if (!ahead || (text_.marks(to) & kInsn) == 0) return end(reading);
    const auto [at, fresh] = waiting_.try_emplace(to, reading);
    if (!fresh) at->second.meet(reading);
  }

  void step(std::uint64_t at, Reading reading) {
    auto uses = isa::decode_uses(text_.bytes(at), at);
    if (!uses) return end(reading);
    if (is_cpuid(text_.bytes(at))) uses->values &= static_cast<std::uint16_t>(~(1u << kRcx));
    const std::uint64_t next = at + uses->insn.length;
    switch (uses->insn.cls) {
      case isa::InsnClass::other:
        use(*uses, reading);
        return go_on(at, next, std::move(reading));
      case isa::InsnClass::cond:
        use(*uses, reading);
        go_on(at, uses->insn.target, reading);
        return go_on(at, next, std::move(reading));
      case isa::InsnClass::jmp:
        return go_on(at, uses->insn.target, std::move(reading));
      case isa::InsnClass::icall:
      case isa::InsnClass::ijmp:
        read(uses->pointers, uses->pointers, reading);
        return end(reading);
      default:
        return end(reading);
    }
  }

  static void read(std::uint16_t pointers, std::uint16_t values, Reading& reading) {
    for (std::size_t i = 0; i < reading.in.size(); ++i) {
      const auto bit = static_cast<std::uint8_t>(1u << i);
      if ((reading.in[i] & pointers) != 0) reading.pointers &= static_cast<std::uint8_t>(~bit);
      if ((reading.in[i] & values) != 0) reading.values &= static_cast<std::uint8_t>(~bit);
    }
  }

  static void use(const isa::Uses& uses, Reading& reading) {
    using Hands = isa::Uses::Hands;
    const bool framed =
        reading.framed && uses.memory.base == kRbp && uses.memory.index == isa::kNoRegister;
    const auto handed = uses.from == isa::kNoRegister ? 0u : 1u << uses.from;
    read(uses.pointers, static_cast<std::uint16_t>(uses.pointers | (uses.values & ~handed)),
         reading);
    // What holds an argument behind it.
    std::array<bool, kRegisterArguments> put{};
    if (uses.hands == Hands::load && framed) {
      for (const auto& [distance, argument] : reading.kept) {
        if (distance == uses.memory.displacement) put[argument] = true;
      }
    }
    for (std::size_t i = 0; i < reading.in.size(); ++i) {
      if (uses.hands == Hands::copy) put[i] = (reading.in[i] & handed) != 0;
    }
    if (uses.hands == Hands::store && framed) keep(uses, handed, reading);
    for (std::size_t i = 0; i < reading.in.size(); ++i) {
      reading.in[i] &= static_cast<std::uint16_t>(~uses.writes);
      if (put[i]) reading.in[i] |= static_cast<std::uint16_t>(1u << uses.to);
    }
    if ((uses.writes >> kRbp & 1) != 0) {
      reading.framed = uses.hands == Hands::copy && uses.from == kRsp;
      reading.kept.clear();
    }
  }

  static void keep(const isa::Uses& uses, unsigned handed, Reading& reading) {
    std::erase_if(reading.kept,
                  [&](const auto& one) { return one.first == uses.memory.displacement; });
    for (std::size_t i = 0; i < reading.in.size(); ++i) {
      if ((reading.in[i] & handed) != 0) {
        reading.kept.emplace_back(uses.memory.displacement, static_cast<std::uint8_t>(i));
      }
    }
  }

  const TextMap& text_;
  const Function& function_;
  std::map<std::uint64_t, Reading> waiting_;
  std::uint8_t unpointed_ = 0, unread_ = 0;
};

}  // namespace

ArgumentsRead arguments_read(const TextMap& text, const Function& function) {
  return FunctionReading(text, function).result();
}

}  // namespace hodo::text
