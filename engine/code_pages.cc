#include "code_pages.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>

#include "arena.h"
#include "cache.h"
#include "edition.h"
#include "hodo/base/page.h"
#include "hodo/isa/encoding.h"
#include "map.h"
#include "mappings.h"
#include "memory.h"
#include "pool.h"
#include "program_memory.h"
#include "seccomp.h"
#include "sys.h"
#include "threads.h"

namespace hodo::engine {
namespace {

constexpr unsigned kPatience = 64;      // writes to a page before its fragments are checked instead
constexpr std::size_t kMostPages = 64;  // that one fragment may depend on

struct Dependent {
  std::uint64_t ip, bytes;  // bytes: 0 where it is not checked
  std::uint8_t* head;
  Dependent* next;
};

struct CodePage {
  bool known = false;
  std::uint32_t prot = 0;  // as the program has it
  bool is_volatile = false;
  bool checked = false;
  bool modifies_itself = false;
  bool guarded = false;    // write-protected by us
  bool was_there = false;  // has been read, and nothing has taken its contents away since
  std::uint8_t writes = 0;
  Dependent* dependents = nullptr;
};

Map<CodePage*> pages;
Pool<CodePage> page_pool;
Pool<Dependent> dependent_pool;
std::uint64_t touched[kMostPages];
std::size_t touched_count = 0;
bool translating = false;
std::size_t guarded_count = 0;
bool may_guard = true;

// False: the process has as many mappings as it may have, and this would make one more.
bool protect(std::uint64_t page, std::uint64_t bytes, std::uint32_t prot) {
  const auto size = static_cast<long>(bytes);
  return !failed(raw_syscall(SYS_mprotect, static_cast<long>(page), size, prot));
}

// A page that cannot be protected is checked from now on.
void guard(std::uint64_t page, CodePage& code) {
  if (code.guarded || code.checked || (code.prot & PROT_WRITE) == 0) return;
  if (!may_guard || is_being_replaced(page)) {  // by what nobody has seen yet
    code.checked = true;
    return;
  }
  // Memory that grows down takes the rights of its lowest page along: it grows before that.
  std::uint8_t below;
  if (nothing_is_known_below(page)) read_program(&below, page - 1, 1);
  code.guarded = true;
  ++guarded_count;
  __atomic_signal_fence(__ATOMIC_RELEASE);  // before: abandon_translations() gives it back
  // What the program may write it may read.
  if (protect(page, kPage, (code.prot & ~std::uint32_t{PROT_WRITE}) | PROT_READ)) return;
  code.guarded = false;
  --guarded_count;
  code.checked = true;
}

CodePage* find_page(std::uint64_t page) {
  CodePage** found = pages.find(page);
  return found == nullptr ? nullptr : *found;
}

void drop_dependents(CodePage& code);

// Where a page cannot be given back by itself: with those around it that are guarded, too. False:
// nor so; it is no longer there.
bool give_back_run(std::uint64_t page, std::uint32_t prot) {
  const auto belongs = [prot](std::uint64_t at) {
    const CodePage* code = find_page(at);
    return code != nullptr && code->guarded && code->prot == prot;
  };
  std::uint64_t first = page, end = page + kPage;
  while (belongs(first - kPage)) first -= kPage;
  while (belongs(end)) end += kPage;
  if (!protect(first, end - first, prot)) return false;
  for (; first < end; first += kPage) {
    CodePage& code = *find_page(first);
    code.guarded = false;
    --guarded_count;
    drop_dependents(code);
  }
  return true;
}

void give_back(std::uint64_t page, CodePage& code) {
  if (!code.guarded) return;
  if (!protect(page, kPage, code.prot) && give_back_run(page, code.prot)) return;
  code.guarded = false;
  --guarded_count;
}

// Null: no code can be executed there. As natively, nothing is where the engine is.
CodePage* take_page(std::uint64_t page) {
  CodePage* code = find_page(page);
  if (code != nullptr && code->known) return (code->prot & PROT_EXEC) != 0 ? code : nullptr;
  const bool vsyscalls = page >> 63 != 0;  // the kernel's, which nobody can read
  const bool none = page == 0 || vsyscalls || is_own(page, kPage);
  const Mapping* mapping = none ? nullptr : find_mapping(page);
  if (mapping == nullptr || (mapping->prot & PROT_EXEC) == 0) return nullptr;
  using enum Mapping::Kind;
  const bool kernels = mapping->kind == probes || mapping->kind == probe_calls;
  if (kernels) return nullptr;  // runs at its own place only
  if (code == nullptr) {
    code = page_pool.take();
    pages.put(page, code);
  }
  *code = {};
  code->known = true;
  code->prot = mapping->prot;
  code->is_volatile = !mapping->file || mapping->shared || (mapping->prot & PROT_WRITE) != 0;
  code->checked = mapping->shared;
  return code;
}

void drop_dependents(CodePage& code) {
  while (code.dependents != nullptr) {
    Dependent* one = code.dependents;
    code.dependents = one->next;
    drop_fragment(one->ip, one->head);
    dependent_pool.give(one);
  }
}

template <class Visit>
void each_page(std::uint64_t start, std::uint64_t bytes, Visit visit) {
  const std::uint64_t first = start & ~(kPage - 1);
  if (bytes > ~std::uint64_t{0} - start - kPage) bytes = ~std::uint64_t{0} - start - kPage;
  const std::uint64_t end = (start + bytes + kPage - 1) & ~(kPage - 1);
  if ((end - first) / kPage <= pages.size()) {
    for (std::uint64_t page = first; page < end; page += kPage) {
      if (CodePage* code = find_page(page)) visit(page, *code);
    }
    return;
  }
  pages.each([&](std::uint64_t page, CodePage* code) {
    if (page >= first && page < end) visit(page, *code);
  });
}

// Nothing is known of the page any more.
void forget(CodePage& code) {
  drop_dependents(code);
  if (code.guarded) --guarded_count;
  code.guarded = false;
  code.known = false;
}

// Mapped is not there: behind the end of a file, or behind MADV_GUARD_INSTALL, nothing is.
bool is_there(std::uint64_t page) {
  std::uint8_t first;
  return read_code(&first, page, 1);
}

// Whether to read it waits for nobody. Another thread that brings it (Entering, edition.h) needs
// the lock, and natively is not asked before the program comes there.
bool is_in_memory(std::uint64_t page) {
  if (has_filter()) return true;  // one from before may end who asks
  std::uint8_t state = 0;
  const long asked =
      raw_syscall(SYS_mincore, static_cast<long>(page), kPage, reinterpret_cast<long>(&state));
  return failed(asked) || (state & 1) != 0;
}

bool touch(std::uint64_t page) {
  CodePage* code = take_page(page);
  if (code == nullptr) return false;
  if (translating && std::find(touched, touched + touched_count, page) != touched + touched_count)
    return true;
  const bool may_wait = translating && touched_count != 0 && !code->was_there;
  if ((may_wait && !is_in_memory(page)) || !is_there(page)) return false;
  code->was_there = true;
  if (!translating) return true;
  if (touched_count == kMostPages) return false;
  guard(page, *code);
  touched[touched_count++] = page;
  return true;
}

// What is known of the page is what the mapping says, from here on.
void drop_page(std::uint64_t page, CodePage* code) {
  give_back(page, *code);
  if (code->known && (code->prot & PROT_WRITE) != 0) {
    // It may have been read while the page was guarded.
    const Mapping* mapping = find_mapping(page);
    if (mapping != nullptr && mapping->prot != code->prot) note_protected(page, kPage, code->prot);
  }
  page_pool.give(code);
}

}  // namespace

unsigned readable_bytes(std::uint64_t ip) {
  const std::uint64_t page = ip & ~(kPage - 1);
  if (!touch(page)) return 0;
  const std::uint64_t left = page + kPage - ip;
  if (left >= kLongestInsn) return kLongestInsn;
  // Most end before that, and what lies behind may be data, or nothing.
  const auto* const code = reinterpret_cast<const std::uint8_t*>(ip);
  if (isa::decode_encoding(code, left).length != 0) return static_cast<unsigned>(left);
  return touch(page + kPage) ? kLongestInsn : static_cast<unsigned>(left);
}

bool is_volatile(std::uint64_t ip) {
  const CodePage* code = find_page(ip & ~(kPage - 1));
  return code != nullptr && code->is_volatile;
}

bool is_checked(std::uint64_t ip) {
  const std::uint64_t last = (ip + kLongestInsn - 1) & ~(kPage - 1);
  for (std::uint64_t page = ip & ~(kPage - 1);; page += kPage) {
    const CodePage* code = find_page(page);
    if (code != nullptr && code->known && code->checked) return true;
    if (page == last) return false;
  }
}

bool modifies_itself(std::uint64_t ip) {
  const CodePage* code = find_page(ip & ~(kPage - 1));
  return code != nullptr && code->modifies_itself;
}

std::uint32_t protection_of(std::uint64_t address) {
  const CodePage* code = find_page(address & ~(kPage - 1));
  if (code != nullptr && code->known) return code->prot;
  const Mapping* mapping = find_mapping(address);
  return mapping == nullptr ? 0 : mapping->prot;
}

void begin_fragment() {
  translating = true;
  touched_count = 0;
}

void end_fragment(std::uint64_t ip, std::uint64_t bytes, std::uint8_t* head) {
  translating = false;
  for (std::size_t i = 0; i < touched_count; ++i) {
    CodePage* code = find_page(touched[i]);
    Dependent* one = dependent_pool.take();
    *one = {ip, bytes, head, code->dependents};
    code->dependents = one;
  }
}

void drop_other_fragments(std::uint64_t start, std::uint64_t bytes, const std::uint8_t* head) {
  each_page(start, bytes, [&](std::uint64_t, CodePage& code) {
    for (Dependent** at = &code.dependents; *at != nullptr;) {
      Dependent* const one = *at;
      const bool overlaps = one->ip < start + bytes && start < one->ip + one->bytes;
      if (!overlaps || one->head == head) {
        at = &one->next;
        continue;
      }
      *at = one->next;
      drop_fragment(one->ip, one->head);
      dependent_pool.give(one);
    }
  });
}

std::size_t guarded_pages() { return __atomic_load_n(&guarded_count, __ATOMIC_RELAXED); }

void give_back_pages(std::uint64_t start, std::uint64_t bytes) {
  if (guarded_count == 0) return;
  each_page(start, bytes, [](std::uint64_t page, CodePage& code) {
    if (!code.guarded) return;
    give_back(page, code);
    drop_dependents(code);
  });
}

void code_unmapped(std::uint64_t start, std::uint64_t bytes) {
  each_page(start, bytes, [](std::uint64_t, CodePage& code) { forget(code); });
}

void code_replaced(std::uint64_t start, std::uint64_t bytes) {
  each_page(start, bytes, [](std::uint64_t, CodePage& code) {
    drop_dependents(code);
    code.was_there = false;
  });
}

bool code_overwritten(std::uint64_t start, std::uint64_t bytes) {
  bool others = false;
  each_page(start, bytes, [&](std::uint64_t, CodePage& code) {
    if (code.is_volatile) return drop_dependents(code);
    others = others || code.dependents != nullptr;
  });
  return others;
}

void code_protected(std::uint64_t start, std::uint64_t bytes, std::uint32_t prot) {
  each_page(start, bytes, [&](std::uint64_t page, CodePage& code) {
    if (code.guarded) --guarded_count;
    code.guarded = false;  // the kernel has just set what the program asked for
    if ((prot & PROT_EXEC) == 0) return forget(code);
    code.prot = prot;
    if ((prot & PROT_WRITE) != 0) code.is_volatile = true;
    if (code.dependents == nullptr || code.checked) return;
    guard(page, code);
    if (code.checked) drop_dependents(code);
  });
}

bool code_written(std::uint64_t address, const std::uint8_t* fragment, bool& stale) {
  const std::uint64_t page = address & ~(kPage - 1);
  CodePage* code = find_page(page);
  if (code == nullptr || (code->prot & PROT_WRITE) == 0) return false;
  stale = false;
  for (const Dependent* one = code->dependents; one != nullptr; one = one->next) {
    stale = stale || one->head == fragment;
  }
  const Arena* arena = fragment == nullptr ? nullptr : arena_of_code(fragment);
  if (arena != nullptr && arena->edition != current_edition()) stale = true;  // nobody knows
  if (!code->guarded) {
    // Another thread was faster, or the page is not what was thought: somebody else changed it.
    mappings_changed();
    const Mapping* mapping = find_mapping(page);
    if (mapping != nullptr && (mapping->prot & PROT_WRITE) != 0) return true;
    code->prot = mapping == nullptr ? 0 : mapping->prot;
    return false;
  }
  give_back(page, *code);
  drop_dependents(*code);
  if (stale) code->modifies_itself = true;
  if (++code->writes == kPatience) code->checked = true;
  return true;
}

bool unprotect_all() {
  if (guarded_count == 0) return false;
  pages.each([](std::uint64_t page, CodePage* code) {
    if (!code->guarded) return;
    give_back(page, *code);
    drop_dependents(*code);
  });
  return true;
}

void stop_guarding() {
  may_guard = false;
  unprotect_all();
}

bool code_pages_are_ready() {
  return pages.reserve(2 * kMostPages) && page_pool.reserve(2 * kMostPages) &&
         dependent_pool.reserve(kMostPages);
}

// A guarded page stays so for the next edition, if it has been of use to this one: threads that are
// still in the closed one find out by that whether what they run has changed.
void forget_translations(bool alone) {
  Map<CodePage*> kept;
  pages.each([&](std::uint64_t page, CodePage* code) {
    const bool used = code->dependents != nullptr;
    while (code->dependents != nullptr) {
      Dependent* one = code->dependents;
      code->dependents = one->next;
      dependent_pool.give(one);
    }
    if (code->guarded && (used || !alone)) return kept.put(page, code);
    drop_page(page, code);
  });
  pages.clear();
  pages = kept;
}

void abandon_translations() {
  pages.each([](std::uint64_t page, CodePage* code) {
    if (code->guarded) protect(page, kPage, code->prot);
  });
  pages.abandon();
  page_pool = {};
  dependent_pool = {};
  guarded_count = 0;
  translating = false;
}

}  // namespace hodo::engine
