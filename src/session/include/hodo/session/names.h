// Names for addresses of a session.
#pragma once

#include <cstdint>
#include <string>

namespace hodo::session {

// What lies at an address. Strings are as the traced program's files have them: not yet printable.
struct Place {
  std::string symbol;        // empty: no symbol covers the address
  std::uint64_t offset = 0;  // of the address within the symbol, or within the object without one
  std::string object;  // path of the mapped file, or "[vdso]", "[kernel]"; empty: nothing known
};

class Names {
 public:
  virtual ~Names() = default;
  // `time` is in the trace's clock (Branch::time); 0 asks for the space's last state.
  virtual Place place(std::uint32_t space, std::uint64_t address, std::uint64_t time) const = 0;
  // A number that changes when the answers of place() for `space` may change between two times, so
  // that callers can keep answers.
  virtual std::uint32_t generation(std::uint32_t space, std::uint64_t time) const = 0;
};

}  // namespace hodo::session
