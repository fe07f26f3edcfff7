// A branch with both ends found in the files they belong to.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "edge_end.h"
#include "hodo/flow/branch.h"
#include "hodo/session/session.h"
#include "hodo/text/data_index.h"
#include "hodo/text/module.h"
#include "modules.h"
#include "path_facts.h"
#include "scope.h"
#include "text_pages.h"

namespace hodo::check {

// The upper half of addresses is the kernel's.
inline bool is_kernel(std::uint64_t address) { return address >> 63 != 0; }

struct Edge {
  Branch branch;
  std::uint32_t space = 0;
  End from;
  End to;
  End led_from;  // of a `begin`: where the path that had only paused there came from, if it had
  isa::Mode mode = isa::Mode::bits64;  // of the code at `from`
  // Behind the instruction at `from`, or where the kernel goes on behind this call; 0: unknown.
  std::uint64_t next = 0;
  PathFacts facts = 0;
  bool popped_return = false;       // a jump by which the code returns; branch.kind is ret
  FarBranch far = FarBranch::none;  // where the path was interrupted
  // `from` is a direct branch to a retpoline, or a return whose target the code put on the stack,
  // and the branch is the one through a pointer that they stand for.
  bool retpoline = false;
  // At End::is_breakpoint(); `next` and `facts` are of the file's instruction.
  bool at_breakpoint = false;
  bool plain = false;  // next_of_plain_jump() has told: no rule but those of baselines looks at it
};

// By DT_SONAME: glibc's ld-linux-x86-64.so.2, ld-linux.so.2.
bool is_dynamic_linker(const text::Module& module);
// The same by its code, for files without symbols: glibc's longjmp takes its secret off the stack
// pointer and the target (PTR_DEMANGLE in sysdeps/unix/sysv/linux/x86_64/pointer_guard.h: ROR 17,
// XOR FS:0x30), and nothing else that loads RSP does.
bool demangles(const End& end);
// By DT_SONAME: the C library of glibc or musl, or their dynamic linkers.
bool is_libc(const text::Module& module);
// A program in which all that it calls is linked, the C library and its part of the dynamic linker
// among it.
bool is_static_program(const text::Module& module);
// The function there has the name. A stub of that name counts: in a program that does not move, the
// address of a function of another file is that of its stub (psABI, "Function Addresses").
bool is_called(const text::Module& module, std::uint64_t vaddr, std::string_view name);
// The same, or it is code that an IFUNC of the name may stand for: in which file lies what it
// chooses between when the program starts. Only of what is known().
bool is_named(const End& to, std::string_view name);
// Whether LEA RSP, [RBP - N] is there and no branch of the text leads to it: a handler of a
// function that the tables of its runtime alone know, as Dart's, and that takes its frame up again.
bool restores_frame(const End& end);

class Makers;

// Finds ends, and what the stack's model needs to know of them.
class Locator {
 public:
  // `session` must outlive this and have regions().
  Locator(session::Session& session, const text::ModuleCache* cache) : modules_(cache) {
    move_to(session);
  }

  // The same of another session; what was read of files is kept.
  void move_to(session::Session& session) {
    session_ = &session;
    regions_ = session.regions();
    copies_.clear();
    differ_.clear();
    over_.clear();
    pages_.clear();
    scope_.reset();
  }

  // Who made memory executable; it must outlive this.
  void ask(const Makers& makers) { makers_ = &makers; }

  // `seen`: of a `begin`, `from` is where Edge::led_from lies, or 0.
  Edge locate(std::uint32_t space, const Branch& seen);
  End end(std::uint32_t space, std::uint64_t address, std::uint64_t time);
  // The region's id alone: whether an edge found before still is what it was.
  session::Regions::Id region(std::uint32_t space, std::uint64_t address, std::uint64_t time) const;
  // The bytes that ran.
  std::vector<std::uint8_t> bytes(std::uint32_t space, std::uint64_t address, std::uint64_t time,
                                  std::size_t size) const;

  // The path of the file that made the memory there executable, which is in no file; empty: not
  // known (yet).
  std::string_view maker(const End& end) const;
  // Another thread may have asked for it that comes later; false once settle() says that none does.
  bool awaits_maker(const End& end) const {
    return !settled_ && makers_ != nullptr && end.grant && maker(end).empty();
  }
  void settle(bool settled) { settled_ = settled; }
  // Whether that file, which can be read, answers for what lies there: nothing was found in the
  // thread that asked, and the code there, as far as it ran by `time`, is known to be no copy of
  // the file's data. So is code that a generator in that file made.
  bool made_itself(const End& end, std::uint32_t space, std::uint64_t time);

  // The name of the file whose text lay at `end`, which is known(), before the file that is there
  // now was mapped: the program itself or one that it depends on, which is never unloaded, so that
  // the other was mapped over it. Empty: none, or the other is a copy of it.
  const std::string& mapped_over(const End& end, std::uint32_t space, std::uint64_t time);

  isa::Mode mode(std::uint32_t space, std::uint64_t time) const {
    return session_->mode(space, time);
  }
  // Of the files that are mapped then; as it is until the next call.
  const Scope& scope(std::uint32_t space, std::uint64_t time);
  Modules& modules() { return modules_; }
  const Modules& modules() const { return modules_; }
  const session::Regions& regions() const { return *regions_; }

 private:
  End find(std::uint32_t space, std::uint64_t address, std::uint64_t time);
  void keep_page(std::uint32_t space, std::uint64_t address, std::uint64_t time);
  PathFacts facts(const Edge& edge) const;
  PathFacts facts_of_target(const Edge& edge) const;
  std::string find_mapped_over(const End& end, std::uint32_t space, std::uint64_t time);
  bool differs(const End& end, std::uint32_t space, std::uint64_t time);
  bool may_be_copy(const End& end, std::uint32_t space, std::uint64_t time, const text::Module& of);

  session::Session* session_ = nullptr;
  const session::Regions* regions_ = nullptr;
  const Makers* makers_ = nullptr;
  bool settled_ = false;
  Modules modules_;
  TextPages pages_;
  std::vector<session::MappedFile> in_scope_;
  std::optional<Scope> scope_;  // of these
  // may_be_copy() of the code that begins at an address, by space and region.
  static constexpr std::size_t kMostCopies = std::size_t{1} << 16;  // else they are found out again
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, bool> copies_;
  std::map<const text::Module*, text::DataIndex> data_;
  // differs() of parts of a file's text, by space, region, place and size.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t>, bool> differ_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> over_;  // by space and region
};

}  // namespace hodo::check
