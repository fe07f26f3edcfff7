// Branches without what differs from run to run: where files were mapped.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hodo/ask/builds.h"
#include "hodo/ask/place_key.h"
#include "hodo/ask/scene.h"
#include "hodo/isa/insn.h"
#include "hodo/session/session.h"

namespace hodo::ask {

// The C library's and the loader's files. `object`: last path component.
bool is_c_library(std::string_view object);
// Whether a function of the C library goes by where its arguments lie in memory: memcpy, strlen and
// their like, which look whether they would come to another page, and what sorts mapped files by
// their addresses; or of the vDSO, by when it is called. What they do within themselves differs
// from run to run and decides nothing that their callers would not show. `object`: last path
// component.
bool depends_on_addresses(std::string_view object, std::string_view function);
// The same of a function of the C library whose file has no names, by its text, which lies at `ip`:
// it looks at an address's low bits, and calls nothing.
bool looks_at_addresses(std::span<const std::uint8_t> code, std::uint64_t ip, isa::Mode mode);

// What a branch is, for two runs alike. Code that is in no file is one place.
class Neutral {
 public:
  // Of rebuilt files functions that are laid out alike are compared as those of one build, of
  // others only what they call, by its name, be it by a call or a jump; and what
  // the loader does within itself to load them is of no account. `code` has the text of functions
  // without a name; null: it is not looked at. `renamed`: what files are called in `rebuilt`; null:
  // as they are. All must outlive this.
  Neutral(const session::Names& names, const RebuiltFiles& rebuilt,
          session::Session* code = nullptr, const RenamedFiles* renamed = nullptr)
      : names_(names), rebuilt_(rebuilt), code_(code), renamed_(renamed) {}

  // nullopt: of no account.
  std::optional<std::uint64_t> token(std::uint32_t space, const Branch& branch);
  // The file that an address is of, as a number; 0: of none.
  std::uint64_t file(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
    return address == 0 ? 0 : page(space, address, time).object;
  }
  // Whether a branch leads from a file to the same file, of which there is one build.
  bool within_one_build(std::uint32_t space, const Branch& branch);
  // Whether functions that are laid out otherwise in the other build call one there that compilers
  // call, or do themselves, as they like.
  bool calls_as_compilers_do(std::uint32_t space, const Branch& branch);
  // Whether a rebuilt file's own code branches, not a stub.
  bool in_rebuilt_code(std::uint32_t space, const Branch& branch);
  // Whether a function returns that is laid out alike in the other build: it returns there, too,
  // wherever that leads.
  bool returns_alike(std::uint32_t space, const Branch& branch);
  bool in_loader(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
    return address != 0 && page(space, address, time).loader;
  }

 private:
  struct Page {
    std::uint64_t object = 0;  // hash; 0: in no file
    std::uint64_t delta = 0;
    const Rebuilt* rebuilt = nullptr;
    bool c_library = false;  // or the vDSO
    bool loader = false;     // ld.so
  };
  static constexpr std::size_t kMostPages = std::size_t{1} << 18;

  // The branches of a loop come again and again.
  struct Known {
    std::uint32_t space = 0;
    Branch branch;  // from 0: none
    std::optional<std::uint64_t> token;
  };
  static constexpr std::size_t kKnown = 1024;
  Known& known(std::uint32_t space, const Branch& branch);
  std::optional<std::uint64_t> find_token(std::uint32_t space, const Branch& branch);

  const Page& page(std::uint32_t space, std::uint64_t address, std::uint64_t time);
  // `target`: the branch leads there.
  std::uint64_t side(std::uint32_t space, std::uint64_t address, std::uint64_t time, bool target);
  bool within_loader(std::uint32_t space, const Branch& branch);
  bool within_rebuilt(std::uint32_t space, const Branch& branch);
  struct Function {
    std::uint64_t name = 0;    // hash
    std::uint64_t offset = 0;  // of the address in it
    bool by_address = false;   // its way through itself is of no account
    bool stub = false;         // of a procedure linkage table
    bool plain = false;        // compilers may do its work in place
    bool alike = false;        // of a rebuilt file: as in Rebuilt
    bool single = false;
  };
  const Function& function(std::uint32_t space, std::uint64_t address, std::uint64_t time);
  BranchKind kind(std::uint32_t space, const Branch& branch);
  bool of_no_account(std::uint32_t space, const Branch& branch);
  bool goes_by_address(std::uint32_t space, const session::Place& place, std::uint64_t begin,
                       std::uint64_t time) const;

  const session::Names& names_;
  const RebuiltFiles& rebuilt_;
  session::Session* code_;
  const RenamedFiles* renamed_;
  std::unordered_map<PlaceKey, Page, PlaceKey::Hash> pages_;
  std::unordered_map<PlaceKey, Function, PlaceKey::Hash> functions_;
  std::vector<Known> known_{kKnown};
};

}  // namespace hodo::ask
