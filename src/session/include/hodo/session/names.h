// Names for addresses of a session.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "hodo/symbol/symbol_table.h"

namespace hodo::session {

// What lies at an address. Strings are as the traced program's files have them: not yet printable.
struct Place {
  std::string symbol;        // empty: no symbol covers the address
  std::uint64_t offset = 0;  // of the address within the symbol, or within the object without one
  std::string object;      // path of the mapped file, or "[vdso]", "[kernel]"; empty: nothing known
  std::uint64_t size = 0;  // bytes of the symbol; 0 without one
  bool stub = false;       // a PLT stub on the way to the symbol: "puts@plt"
  bool synthetic = false;  // the file has no name for the function: "sub_401230", by its address
  std::string mark;  // of several functions of one name in the file which: "a.c"; mostly empty
};

// The file that an address was mapped from.
struct Object {
  std::string path;          // as Place::object; raw
  std::uint64_t offset = 0;  // of the address in the file; the address itself in "[anon]"
  // Its symbols and lines; null where there is no file, or another one than the one that ran. Lives
  // as long as the session.
  const symbol::SymbolTable* table = nullptr;

  // Where the file is read from (--symfs, perf's cache, the recording itself); empty without one.
  std::string location() const { return table != nullptr ? table->path() : std::string(); }
};

// The symbol that covers the object's address.
Place place_in(const Object& object);

// The symbol, and which function of the name: "parse [a.c]" where the file has several.
std::string full_name(const Place& place);

// Source position of the object's address, innermost inlined call first, functions demangled; empty
// without DWARF for it. As SymbolTable::source in what it takes.
std::vector<symbol::SourceFrame> source_of(const Object& object);

// Stands for any space at addresses of the kernel's half, which all spaces share.
inline constexpr std::uint32_t kKernelSpace = ~std::uint32_t{0};

// A span of time in which a space had no file in the place of another one: in it an address tells a
// file, and counts by address can be added up. Programs that a process executes one after the other
// are the usual case.
struct Era {
  std::uint32_t number = 0;
  std::uint64_t from = 0;  // trace time: [from, until)
  std::uint64_t until = ~std::uint64_t{0};
};

// What is mapped around an address: the same in [first, last] at all times in [from, until).
struct FileAround {
  // Of a file; what two processes have of one part is the same code.
  struct Part {
    std::uint32_t file = kNoFile;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint64_t bytes =
        0;  // a number of the bytes that a recording kept of it; 0: the file's own
    auto operator<=>(const Part&) const = default;
  };
  static constexpr std::uint32_t kNoFile = ~std::uint32_t{0};

  std::uint64_t first = 0, last = ~std::uint64_t{0};
  std::uint64_t from = 0, until = ~std::uint64_t{0};
  std::uint64_t start = 0;  // where the part is mapped
  Part part;
};

class Names {
 public:
  virtual ~Names() = default;
  // `time` is in the trace's clock (Branch::time); 0 asks for the space's last state.
  virtual Place place(std::uint32_t space, std::uint64_t address, std::uint64_t time) const = 0;
  virtual Object object(std::uint32_t space, std::uint64_t address, std::uint64_t time) const = 0;
  // A number that changes when the mappings or the code of `space` may have changed between two
  // times, so that callers can keep what they read or judged there.
  virtual std::uint32_t generation(std::uint32_t space, std::uint64_t time) const = 0;
  // The same of the answers of place() and object(). It changes less often: a library that is
  // loaded where nothing was, and code that is changed, leave all names as they were.
  virtual std::uint32_t naming(std::uint32_t space, std::uint64_t time) const {
    return generation(space, time);
  }
  // Whether code of `space` may have a name, sooner or later, though no file has a symbol for it:
  // it was made at run time by who tells names, or is a kernel's.
  virtual bool may_name_more(std::uint32_t /*space*/) const { return true; }
  virtual Era era(std::uint32_t, std::uint64_t) const { return {}; }
  // No file where nobody knows.
  virtual FileAround file_around(std::uint32_t /*space*/, std::uint64_t /*address*/,
                                 std::uint64_t /*time*/) const {
    return {};
  }
  // Of every file of the session that is here and is the one that ran.
  virtual std::vector<const symbol::SymbolTable*> tables() const { return {}; }
  // Whether the process of `space` went on with another program (exec) later than at `after` and no
  // later than at `until`: times of the trace's clock.
  virtual bool replaced(std::uint32_t /*space*/, std::uint64_t /*after*/,
                        std::uint64_t /*until*/) const {
    return false;
  }
};

}  // namespace hodo::session
