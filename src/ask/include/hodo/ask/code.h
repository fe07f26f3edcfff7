// The instructions that lie between two branches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "hodo/ask/place_key.h"
#include "hodo/isa/insn.h"
#include "hodo/session/session.h"

namespace hodo::ask {

struct Instruction {
  std::uint64_t address = 0;
  std::uint8_t length = 0;
};

// Reads the code that a session ran. What it has decoded is kept, within a bound.
class Code {
 public:
  // `session` must outlive this.
  explicit Code(session::Session& session)
      : session_(session),
        generation_(session.names(), &session::Names::generation),
        distances_(kDistances) {}

  // The first `count` instructions of the straight line that begins at `address`; fewer where the
  // code ends or is not known.
  std::vector<Instruction> line(std::uint32_t space, std::uint64_t address, std::uint64_t time,
                                std::uint64_t count);
  // How many instructions the straight line has before it comes to `to`, if it does within `most`;
  // else `most`.
  std::uint64_t distance(std::uint32_t space, std::uint64_t address, std::uint64_t to,
                         std::uint64_t time, std::uint64_t most);
  // Whether the code leads from an instruction back to it by direct jumps and calls alone, of which
  // Intel PT writes nothing.
  bool comes_back(std::uint32_t space, std::uint64_t address, std::uint64_t time);
  // "mov eax, dword ptr [rdi]"; "(unknown code)" where there is none.
  std::string disassemble(std::uint32_t space, std::uint64_t address, std::uint64_t time);

 private:
  std::optional<isa::Insn> decode(std::uint32_t space, std::uint64_t address, std::uint64_t time);
  std::uint8_t length_at(const PlaceKey& place, std::uint64_t time);

  // How far a line came to `to`.
  struct Distance {
    PlaceKey from;
    std::uint64_t to = 0;  // 0: nothing is kept
    std::uint64_t count = 0;
  };
  static constexpr std::size_t kMostKept = std::size_t{1} << 18;
  static constexpr std::size_t kDistances = 1024;

  session::Session& session_;
  Generation generation_;
  std::unordered_map<PlaceKey, std::uint8_t, PlaceKey::Hash> lengths_;
  std::vector<Distance> distances_;  // of the last questions, by their hashes
};

}  // namespace hodo::ask
