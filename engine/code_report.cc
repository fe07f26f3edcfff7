#include "code_report.h"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>

#include "block_calls.h"
#include "channel.h"
#include "code_pages.h"
#include "filters.h"
#include "hodo/base/page.h"
#include "map.h"
#include "mappings.h"
#include "memory.h"
#include "pool.h"
#include "program_memory.h"
#include "recording.h"
#include "sys.h"
#include "threads.h"

namespace hodo::engine {
namespace {

// Where a system call was made, and the file that its function returns to: that tells most callers
// of mprotect() apart. Within a file it is the place.
struct Asker {
  std::uint64_t call = 0;  // behind it; 0: not known
  std::uint64_t caller = 0;
  bool operator==(const Asker&) const = default;
};

// Addresses that the recorder has been told of.
struct Told {
  std::uint64_t start = 0, end = 0;
  std::uint64_t inode = 0;  // 0: memory that no file backs
  std::uint64_t from = 0;   // the address that the file's first byte would have
  bool written = false;     // the program may write to it, or could
  std::uint32_t prot = 0;   // of a file's mapping
  Asker asker;              // for the right to execute it
  bool contains(std::uint64_t address) const { return address - start < end - start; }
};

// The bytes of a page that were sent.
struct Kept {
  std::uint8_t bytes[kPage];
  std::uint64_t sent[kPage / 64] = {};
};

enum class State : std::uint8_t { unknown, in_file, kept };
struct Page {
  State state = State::unknown;
  Kept* kept = nullptr;
};

// Inodes of the files that were told of last, mapped still or not, since the recorder was asked to
// open them; older ones it has come to.
std::uint64_t told_files[64];
std::size_t told_file_count = 0;

constexpr std::size_t kMostTold = 1 << 16;
Told* told = nullptr;
std::size_t told_count = 0;
Map<Page> reported;
Pool<Kept> kept_pool;

Told* find_told(std::uint64_t address) {
  for (std::size_t i = told_count; i-- > 0;) {
    if (told[i].contains(address)) return &told[i];
  }
  return nullptr;
}

void remember(const Told& one) {
  if (told == nullptr) told = static_cast<Told*>(map_memory(kMostTold * sizeof(Told)));
  // Beyond that mappings are told of again and again, which is slow but right.
  if (told_count == kMostTold) told_count = 0;
  told[told_count++] = one;
}

void forget_told(std::uint64_t start, std::uint64_t end) {
  for (std::size_t i = told_count; i-- > 0;) {
    const Told one = told[i];
    if (one.end <= start || one.start >= end) continue;
    told[i] = told[--told_count];
    if (one.start < start) {
      remember(one);
      told[told_count - 1].end = start;
    }
    if (one.end > end) {
      remember(one);
      told[told_count - 1].start = end;
    }
  }
}

void drop_kept(Page& page) {
  if (page.kept == nullptr) return;
  kept_pool.give(page.kept);
  page.kept = nullptr;
}

void count_report(ThreadArea& area) {
  __atomic_store_n(&report_count, report_count + 1, __ATOMIC_RELEASE);
  after_new_code(area);
}

void send_code(ThreadArea& area, std::uint64_t address, const std::uint8_t* bytes,
               std::size_t count, std::optional<std::uint64_t> time = {}) {
  before_new_code(area);
  send(area, relay::RecordType::code, relay::CodeRecord{address}, bytes, count,
       time ? *time : now());
  count_report(area);
}

bool is_sent(const Kept& kept, std::size_t at) { return (kept.sent[at / 64] >> at % 64 & 1) != 0; }

// In a recording a mapping replaces what was there, also the code that was sent: it comes again.
void send_again(ThreadArea& area, std::uint64_t address, const Kept& kept) {
  for (std::size_t at = 0; at < kPage;) {
    std::size_t end = at;
    while (end < kPage && is_sent(kept, end)) ++end;
    if (end > at) send_code(area, address + at, kept.bytes + at, end - at);
    at = end + 1;
  }
}

// Of what time it is.
std::uint64_t send_mapping(ThreadArea& area, const relay::MapRecord& where, std::string_view path) {
  before_new_code(area);
  const std::uint64_t time = now();
  send(area, relay::RecordType::map, where, path.data(), path.size(), time);
  count_report(area);
  reported.each([&](std::uint64_t address, const Page& page) {
    if (page.kept != nullptr && address - where.start < where.length) {
      send_again(area, address, *page.kept);
    }
  });
  return time;
}

// The stack of each thread counts as one, not only the main thread's, as the kernel has it.
std::string_view name_of(const Mapping& mapping) {
  if (is_stack_of_thread(mapping.start, mapping.end)) return "[stack]";
  switch (mapping.kind) {
    case Mapping::Kind::heap:
      return "[heap]";
    case Mapping::Kind::stack:
      return "[stack]";
    case Mapping::Kind::vdso:
      return "[vdso]";
    case Mapping::Kind::probes:
      return "[uprobes]";
    default:
      return "//anon";
  }
}

// The memory without a file around `address`, as far as it has not been told of.
void report_memory(ThreadArea& area, std::uint64_t address) {
  const Mapping* at = find_mapping(address);
  if (at == nullptr) return;
  const std::string_view name = name_of(*at);
  relay::MapRecord where;
  where.start = at->start;
  where.prot = protection_of(address);
  std::uint64_t end = at->end;
  for (std::size_t i = 0; i < told_count; ++i) {
    if (told[i].start > address) end = std::min(end, told[i].start);
    if (told[i].end <= address) where.start = std::max(where.start, told[i].end);
  }
  where.length = end - where.start;
  remember({where.start, end, 0, 0, true});
  send_mapping(area, where, name);
}

bool is_told(const Mapping& mapping, std::uint64_t address) {
  const Told* known = find_told(address);
  return known != nullptr && known->inode == mapping.inode &&
         known->from == mapping.start - mapping.offset;
}

Asker asker_in(const ThreadArea& area) {
  std::uint64_t back = 0;
  if (!read_program(&back, area.registers.rsp, sizeof back)) return {};
  const Mapping* caller = find_mapping(back);
  if (caller == nullptr || !caller->file || (caller->prot & PROT_EXEC) == 0) return {};
  const bool is_own = area.ip - caller->start < caller->end - caller->start;
  return {area.ip, is_own ? back : caller->start};
}

// The part of memory without a file that `mapping` has between the two. Where the same asks again
// it need not be told, since the trace says the same of it.
void tell_granted(ThreadArea& area, const Mapping& mapping, std::uint64_t start, std::uint64_t end,
                  const Asker& asker) {
  const Told* known = find_told(start);
  const bool again = asker.call != 0 && known != nullptr && known->asker == asker;
  if (again && end <= known->end) return;
  const std::string_view name = name_of(mapping);
  forget_told(start, end);
  remember({.start = start, .end = end, .written = true, .asker = asker});
  relay::MapRecord where;
  where.start = start;
  where.length = end - start;
  where.prot = mapping.prot;
  where.granted = 1;
  send_mapping(area, where, name);
}

// Whether a file is known there that the program could write to, or can from now on.
bool is_file_told(std::uint64_t start, std::uint64_t end, bool written) {
  return std::any_of(told, told + told_count, [&](const Told& one) {
    return one.inode != 0 && one.start < end && one.end > start && (written || one.written);
  });
}

// Whether the trace says all that there is to say of it. Generators of code switch between writing
// and executing all day, and the code of a mapping that is told of is sent, or copied, anew.
bool is_told_as_written(const Mapping& mapping) {
  const Told* known = find_told(mapping.start);
  return known != nullptr && known->written && mapping.end <= known->end &&
         ((mapping.prot & PROT_EXEC) == 0 || mapping.prot == known->prot);
}

bool is_small(const Mapping& mapping) { return mapping.end - mapping.start <= 64 * kPage; }

// The recorder opens a file that is gone by way of the process, if it may. Of small ones, as are
// made for closures, all is sent, of the time of the mapping, as the recorder does it: then it is
// code without a file.
void send_deleted(ThreadArea& area, const Mapping& mapping, std::uint64_t time) {
  if (!is_small(mapping)) return;
  for (std::uint64_t at = mapping.start; at < mapping.end; at += kPage) {
    const Page* const known = reported.find(at);
    if (known != nullptr && known->kept != nullptr) continue;  // code that was made
    Kept* const kept = kept_pool.take();
    if (!read_program(kept->bytes, at, kPage)) return kept_pool.give(kept);
    std::ranges::fill(kept->sent, ~std::uint64_t{0});
    send_code(area, at, kept->bytes, kPage, time);
    reported.put(at, {.state = State::kept, .kept = kept});
  }
}

// What serves a file may end with the program, too soon for the recorder.
void have_copied_if_served(const Mapping& mapping, std::string_view path) {
  static char name[4096];
  if (mapping.major != 0 || path.size() >= sizeof(name)) return;
  *std::copy(path.begin(), path.end(), name) = '\0';
  struct statfs fs{};
  const long asked = raw_syscall(SYS_statfs, argument(name), argument(&fs));
  if (failed(asked) || fs.f_type != FUSE_SUPER_MAGIC) return;
  have_file_copied(name, mapping.minor, mapping.inode);
}

void tell_file(ThreadArea& area, const Mapping& mapping, std::string_view path, bool written) {
  forget_told(mapping.start, mapping.end);
  filter_mapping(mapping, path);
  remember({mapping.start, mapping.end, mapping.inode, mapping.start - mapping.offset, written,
            mapping.prot});
  relay::MapRecord where;
  where.start = mapping.start;
  where.length = mapping.end - mapping.start;
  where.offset = mapping.offset;
  where.inode = mapping.inode;
  where.major = mapping.major;
  where.minor = mapping.minor;
  where.prot = mapping.prot;
  where.shared = mapping.shared ? 1 : 0;
  const std::uint64_t time = send_mapping(area, where, path);
  told_files[told_file_count++ % std::size(told_files)] = mapping.inode;
  have_copied_if_served(mapping, path);
  if (!path.ends_with(" (deleted)")) return;
  // Of memory it takes the end of the process to lose it.
  const bool memory = path.starts_with("/memfd:");
  if (!mapping.shared && (!memory || !is_small(mapping))) hold_told_files();
  send_deleted(area, mapping, time);
}

Told* tell_page(ThreadArea& area, std::uint64_t address) {
  if (Told* known = find_told(address)) return known;
  const Mapping* mapping = find_mapping(address);
  if (mapping != nullptr && mapping->file) report_files(area, false);
  if (Told* known = find_told(address)) return known;
  report_memory(area, address);
  return find_told(address);
}

// What of some bytes the recorder does not have.
struct News {
  bool any = false;
  bool others = false;  // it has others
};

// Notes these bytes, which lie in one page, as sent.
News keep(Page& page, std::uint64_t ip, std::size_t count) {
  if (page.kept == nullptr) page.kept = kept_pool.take();
  Kept& kept = *page.kept;
  const auto* now = reinterpret_cast<const std::uint8_t*>(ip);
  const std::size_t begin = ip % kPage;
  News out;
  for (std::size_t i = 0; i < count; ++i) {
    const bool sent = is_sent(kept, begin + i);
    out.others = out.others || (sent && kept.bytes[begin + i] != now[i]);
    out.any = out.any || !sent;
    kept.sent[(begin + i) / 64] |= std::uint64_t{1} << (begin + i) % 64;
  }
  out.any = out.any || out.others;
  if (out.any) std::memcpy(kept.bytes + begin, now, count);
  return out;
}

News note_in_page(ThreadArea& area, std::uint64_t ip, std::size_t count) {
  const std::uint64_t address = ip - ip % kPage;
  Page* known = reported.find(address);
  Page page = known != nullptr ? *known : Page{};
  if (page.state == State::in_file) return {};
  if (page.state == State::unknown) {
    const Told* where = tell_page(area, address);
    const bool in_file = where != nullptr && where->inode != 0 && !where->written;
    page.state = in_file && is_page_of_file(address) ? State::in_file : State::kept;
  }
  const News news = page.state == State::kept ? keep(page, ip, count) : News{};
  reported.put(address, page);
  return news;
}

void visit_pages(std::uint64_t start, std::uint64_t end, auto visit) {
  reported.each([&](std::uint64_t address, Page& page) {
    if (address >= start && address < end) visit(page);
  });
}

}  // namespace

std::uint32_t report_count = 0;

// In one piece, since other decoders read no instruction that lies in two.
bool report_code(ThreadArea& area, std::uint64_t ip, std::size_t bytes) {
  if (!is_recorded(area)) return false;
  News news;
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t count = std::min<std::size_t>(bytes - done, kPage - (ip + done) % kPage);
    const News here = note_in_page(area, ip + done, count);
    news = {news.any || here.any, news.others || here.others};
    done += count;
  }
  if (news.any) send_code(area, ip, reinterpret_cast<const std::uint8_t*>(ip), bytes);
  return news.others;
}

void report_files(ThreadArea& area, bool unwritten) {
  if (!is_recorded(area)) return;
  each_file([&](const Mapping& mapping, std::string_view path) {
    if ((mapping.prot & PROT_EXEC) == 0) return;
    if (is_told(mapping, mapping.start) && is_told(mapping, mapping.end - 1)) return;
    const bool written = !unwritten || mapping.shared || (mapping.prot & PROT_WRITE) != 0;
    tell_file(area, mapping, path, written);
  });
}

void report_probes(ThreadArea& area, std::uint64_t ip) {
  if (!is_recorded(area) || find_told(ip) != nullptr) return;
  const Mapping* at = find_mapping(ip);
  if (at != nullptr && at->kind == Mapping::Kind::probes) report_memory(area, ip);
}

void report_unmapped(std::uint64_t start, std::uint64_t bytes) {
  const std::uint64_t end = page_end(start, bytes);
  forget_told(start, end);
  filter_nothing(start, end);
  visit_pages(start, end, [](Page& page) {
    drop_kept(page);
    page.state = State::unknown;
  });
}

void report_stack(std::uint64_t pointer) {
  const Told* known = find_told(pointer - 1);
  if (known != nullptr && known->inode == 0)
    report_unmapped(known->start, known->end - known->start);
}

void report_protected(ThreadArea& area, std::uint64_t start, std::uint64_t bytes,
                      std::uint32_t prot) {
  if (!is_recorded(area)) return;
  const std::uint64_t end = page_end(start, bytes);
  const bool written = (prot & PROT_WRITE) != 0;
  if (written) visit_pages(start, end, [](Page& page) { page.state = State::unknown; });
  if (is_file_told(start, end, written)) {
    each_file([&](Mapping mapping, std::string_view path) {
      if (mapping.start >= end || mapping.end <= start) return;
      const std::uint64_t first = std::max(mapping.start, start);
      if (!is_told(mapping, first)) return;
      mapping.prot = prot;  // not what the kernel says where pages are guarded
      mapping.offset += first - mapping.start;
      mapping.start = first;
      mapping.end = std::min(mapping.end, end);
      if (!is_told_as_written(mapping)) tell_file(area, mapping, path, true);
    });
  }
  if ((prot & PROT_EXEC) != 0) report_files(area, false);
}

void hold_told_files() {
  told_file_count = 0;
  have_files_held();
}

void hold_told_file(std::uint64_t inode) {
  const std::size_t count = std::min(told_file_count, std::size(told_files));
  const bool told = std::any_of(told_files, told_files + count,
                                [&](std::uint64_t told_file) { return told_file == inode; });
  if (told) hold_told_files();
}

void report_granted(ThreadArea& area, std::uint64_t start, std::uint64_t bytes) {
  if (!is_recorded(area)) return;
  const std::uint64_t end = page_end(start, bytes);
  const Asker by = asker_in(area);
  while (start < end) {
    const Mapping* at = find_mapping(start);
    if (at == nullptr) return;
    const Mapping mapping = *at;
    const std::uint64_t behind = std::min(end, mapping.end);
    if (!mapping.file) tell_granted(area, mapping, start, behind, by);
    start = behind;
  }
}

std::uint64_t report_bytes() { return reported.bytes() + kept_pool.bytes(); }

bool reports_are_ready() {
  constexpr std::size_t kMostPages = 64;  // as code_pages.cc
  return reported.reserve(kMostPages) && kept_pool.reserve(kMostPages);
}

void forget_reports() {
  reported.each([](std::uint64_t, Page& page) { drop_kept(page); });
  reported.clear();
}

void abandon_reports() {
  reported.abandon();
  kept_pool = {};
  told_count = 0;
}

}  // namespace hodo::engine
