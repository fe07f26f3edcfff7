// One end of a branch, found in the file that it belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "hodo/session/regions.h"
#include "hodo/text/module.h"

namespace hodo::check {

inline constexpr std::uint8_t kBreakpoint = 0xcc;  // INT3

struct End {
  static constexpr std::uint64_t kProbesPage = 4096;
  enum class Kind : std::uint8_t {
    absent,  // the branch has no such end
    file,    // in `module`
    unread,  // in a file that cannot be read or analysed
    vdso,    // the kernel's own page
    raw,     // in a file that is neither a program nor a library, or in no segment of one (data_of)
    data,    // in a program's or library's data: no segment there is to be executed (PF_X)
    no_file,  // in memory that no file backs
    nowhere,  // nothing that can be executed is known to be mapped there
  };
  Kind kind = Kind::absent;
  bool in_kept = false;  // the recording has bytes that ran in its region and are not the file's
  bool kept = false;     // and the code around it is not what its file has once it is loaded
  std::uint64_t address = 0;
  std::uint32_t region = 0;  // session::Region::id
  std::uint64_t vaddr = 0;   // in the file
  const text::Module* module = nullptr;
  const text::Module* data_of = nullptr;  // Kind::data, raw: the file
  text::Marks marks = 0;
  std::string_view path;  // of the file as recorded
  // As in session::Region.
  std::string_view area;
  session::Region::Writing writing = session::Region::Writing::none;
  bool generated = false;
  std::optional<session::Grant> grant;

  bool known() const { return module != nullptr; }
  // Text that a file has there, and that nothing but its file can have put there.
  bool is_as_its_file() const {
    return kind == Kind::file && known() && !in_kept && !generated && !grant &&
           writing == session::Region::Writing::none;
  }
  // In the page from which the kernel leads on behind functions whose return it probes (uprobes).
  // It alone gives mappings such names: files' begin with a folder's.
  bool in_probes() const { return kind == Kind::vdso && path == "[uprobes]"; }
  // Where it has such functions return to.
  bool is_probed_return() const { return in_probes() && address % kProbesPage == 0; }
  // Whether the file has another instruction where a breakpoint (INT3) ran. `ran`: what did.
  bool is_breakpoint(std::span<const std::uint8_t> ran) const {
    if (!known() || !kept || ran.empty() || ran.front() != kBreakpoint) return false;
    const auto file = module->bytes(vaddr);
    return has(text::kInsn) && !file.empty() && file.front() != kBreakpoint;
  }
  // Of what programs' files say to execute.
  bool outside() const { return kind == Kind::no_file || kind == Kind::raw || kind == Kind::data; }
  bool has(text::Marks any) const { return (marks & any) != 0; }
};

// Both in one image of a file: nothing else of it, nor another file, is mapped over what one of
// them belongs to. Only of what is known().
inline bool lie_together(const End& a, const End& b) {
  return a.module == b.module && a.address - a.vaddr == b.address - b.vaddr;
}

}  // namespace hodo::check
