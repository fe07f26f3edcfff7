// Code that changes. Pages that code was translated from, and what becomes of the translations when
// such a page is written, unmapped or protected.
//
// A page that the program can write is write-protected as long as there are translations of it: the
// first write faults, drops them, and gives the page back. Where that happens again and again, or
// where somebody else can write (a shared mapping), each fragment compares its bytes before it runs
// (CodeCheck).
#pragma once

#include <cstddef>
#include <cstdint>

namespace hodo::engine {

// All of these need the lock.

constexpr unsigned kLongestInsn = 15;
// How many bytes of code can be executed at `ip`, at most kLongestInsn; 0: there is none. Those of
// the next page only where the instruction is not whole without them. What is asked between
// begin_fragment() and end_fragment() is what the fragment depends on.
unsigned readable_bytes(std::uint64_t ip);

// What is at `ip` may be replaced while it is translated: translations may be patched at their
// head.
bool is_volatile(std::uint64_t ip);
// Fragments have to be checked that an instruction here is in: it may reach into the next page.
bool is_checked(std::uint64_t ip);
// Code there has written to its own page: its next instruction may be another one than it was.
bool modifies_itself(std::uint64_t ip);

// What the program may do with the memory at this address, PROT_*.
std::uint32_t protection_of(std::uint64_t address);

void begin_fragment();
// `bytes`: of its code, if it is checked.
void end_fragment(std::uint64_t ip, std::uint64_t bytes, std::uint8_t* head);
// Drops the checked fragments that have any of these bytes, but for the one at `head`. Where the
// recorder was told that they changed, one that runs again since they have been put back would not
// tell it so.
void drop_other_fragments(std::uint64_t start, std::uint64_t bytes, const std::uint8_t* head);

// How many pages are write-protected here. Without the lock.
std::size_t guarded_pages();
// Before a system call that changes mappings there: afterwards nobody could tell whose protection a
// page has, and a page that moves would take ours along.
void give_back_pages(std::uint64_t start, std::uint64_t bytes);
// After such a system call of the program.
void code_unmapped(std::uint64_t start, std::uint64_t bytes);
void code_protected(std::uint64_t start, std::uint64_t bytes, std::uint32_t prot);
// The contents have been thrown away or replaced.
void code_replaced(std::uint64_t start, std::uint64_t bytes);
// The same of pages that need not be volatile. True: those were not, and there are translations of
// them, which threads may run in: begin_anew().
bool code_overwritten(std::uint64_t start, std::uint64_t bytes);

// A write to `address` was refused. True: because the page was protected here; it no longer is.
// `fragment`: where the thread stands; `stale`: that was made from this page.
bool code_written(std::uint64_t address, const std::uint8_t* fragment, bool& stale);
// Gives all pages back; true if there were any: the kernel could not write to them.
bool unprotect_all();
// The same for good: fragments are checked instead. Before the kernel no longer gives back such a
// page, writable and executable, once it is protected (PR_SET_MDWE).
void stop_guarding();

// The edition of the cache is closed: there are no translations. `alone`: no thread runs in an
// older one either.
void forget_translations(bool alone);
// The same where whoever translated was killed half way. All pages are given back.
void abandon_translations();

// False: there is no memory for what one fragment adds to all this.
bool code_pages_are_ready();

// In front of a fragment that has to be checked: what glue_check compares.
struct CodeCheck {
  std::uint64_t ip = 0;
  std::uint64_t resume = 0;  // in the cache, behind the check
  std::uint64_t bytes = 0;
  // As they were translated, behind this.
  std::uint8_t* copy() { return reinterpret_cast<std::uint8_t*>(this + 1); }
};

}  // namespace hodo::engine
