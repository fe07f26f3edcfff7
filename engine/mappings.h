// What the kernel says about a page of the program: /proc/self/maps, read at first and brought up
// to date with the program's own system calls. What those do not tell is read again; a program that
// has forbidden itself to open files (seccomp) goes on with what is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hodo::engine {

struct Mapping {
  // `probes`, `probe_calls`: the kernel's own code around probes (uprobes) and what it has those
  // call instead (Linux 6.18), which it knows by where it runs.
  enum class Kind : std::uint8_t { other, heap, stack, vdso, probes, probe_calls };
  std::uint64_t start = 0, end = 0;
  std::uint64_t offset = 0, inode = 0;  // these and the device only from visit_files()
  std::uint32_t major = 0, minor = 0;
  std::uint32_t prot = 0;  // PROT_*
  bool shared = false;
  bool file = false;
  Kind kind = Kind::other;  // of memory without a file
};

// The mapping that `address` lies in; null: none. Valid until the next call.
const Mapping* find_mapping(std::uint64_t address);
// Whether no mapping is known that ends where the page at `address` begins.
bool nothing_is_known_below(std::uint64_t address);
// Files that are mapped, with their paths; read anew. `visit` must not come back here.
using FileVisitor = void (*)(void* owner, const Mapping& mapping, std::string_view path);
void visit_files(FileVisitor visit, void* owner);
template <class Visit>
void each_file(Visit visit) {
  visit_files([](void* owner, const Mapping& mapping,
                 std::string_view path) { (*static_cast<Visit*>(owner))(mapping, path); },
              &visit);
}
// Whether the page at `address`, of a file's private mapping, still is the file's own: somebody may
// have written to it without having the right to (/proc/PID/mem, ptrace). False if that cannot be
// found out (proc(5), pagemap).
bool is_page_of_file(std::uint64_t address);

// The program has done this. Whole pages.
void note_mapped(std::uint64_t start, std::uint64_t bytes, std::uint32_t prot, bool shared,
                 bool file);
void note_unmapped(std::uint64_t start, std::uint64_t bytes);
void note_moved(std::uint64_t from, std::uint64_t from_bytes, std::uint64_t to,
                std::uint64_t to_bytes);
void note_protected(std::uint64_t start, std::uint64_t bytes, std::uint32_t prot);
// Something else.
void mappings_changed();

// Where the pages end that a system call of the program names by a start and a number of bytes.
std::uint64_t page_end(std::uint64_t start, std::uint64_t bytes);

}  // namespace hodo::engine
