// code.unknown, code.stack, code.heap: execution outside of files. code.writable: execution of
// files' code that could be written to.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "edge_rules.h"
#include "hodo/base/page.h"
#include "hodo/text/names.h"
#include "hodo/text/trampoline.h"

namespace hodo::check {

namespace {

// An image of GCL, which puts compiled code on the heap, too.
bool is_image(std::string_view path, std::uint32_t space, std::uint64_t time, Locator& locator) {
  const auto files = locator.regions().files(space, time);
  return std::ranges::any_of(files, [&](const session::MappedFile& file) {
    if (file.path != path || file.location.empty()) return false;
    const text::Module* const module = locator.modules().get(file.location);
    return module != nullptr && locator.modules().keeps_code_as_data(*module);
  });
}

}  // namespace

std::string known_generator(const End& end, std::uint32_t space, std::uint64_t time,
                            Locator& locator, Jit jit) {
  if (end.kind == End::Kind::data) {
    if (locator.modules().keeps_code_as_data(*end.data_of))
      return std::string(text::file_name(end.path));
  } else if (end.area != "[stack]") {
    const bool heap = end.area == "[heap]";
    const std::string_view path = locator.maker(end);
    if (heap && !path.empty() && is_image(path, space, time, locator)) {
      return std::string(text::file_name(path));
    }
    for (const session::MappedFile& file : locator.regions().files(space, time)) {
      if (!path.empty() && file.path != path) continue;
      const text::Generator* made = locator.modules().generator(file);
      // What libraries generate lies in memory; runtimes have compiled code in files of their own.
      const bool fits = end.kind != End::Kind::raw || (made != nullptr && !made->content.empty());
      if (made != nullptr && fits && (!heap || made->uses_heap)) {
        return std::string(text::file_name(file.path));
      }
    }
  }
  return jit == Jit::allow || end.generated ? "a code generator" : "";
}

namespace {

// In memory that is nothing but such code's.
bool lies_apart(const End& end) {
  return end.kind == End::Kind::no_file && end.area != "[stack]" && end.area != "[heap]";
}

// Nobody made it but the file that made the memory executable.
bool is_own_make(const End& end, std::uint32_t space, std::uint64_t time, Locator& locator) {
  return lies_apart(end) && locator.made_itself(end, space, time);
}

}  // namespace

std::string maker_of(const End& end, std::uint32_t space, std::uint64_t time, Locator& locator,
                     Jit jit) {
  std::string known = known_generator(end, space, time, locator, jit);
  if (!known.empty()) return known;
  if (lies_apart(end) && locator.awaits_maker(end)) return "a thread that comes later";
  if (!is_own_make(end, space, time, locator)) return {};
  return std::string(text::file_name(locator.maker(end)));
}

namespace {

// A call of the kernel's own page at the top of all addresses, by old C libraries: its three
// entries are the only places there that may be executed (addr_to_vsyscall_nr in the kernel's
// vsyscall_64.c). No mapping is recorded for it. Only a call: a return there goes on where an
// attack wants it.
bool is_vsyscall(const Branch& branch) {
  constexpr std::uint64_t kPage = 0xffffffffff600000, kEach = 0x400, kEntries = 3;
  const bool calls = branch.kind == BranchKind::call || branch.kind == BranchKind::icall;
  const std::uint64_t offset = branch.to - kPage;
  return calls && offset % kEach == 0 && offset / kEach < kEntries;
}

RuleId rule_of(const End& end) {
  if (end.area == "[stack]") return RuleId::code_stack;
  return end.area == "[heap]" ? RuleId::code_heap : RuleId::code_unknown;
}

std::string what_ran(RuleId id, const End& end) {
  if (end.kind == End::Kind::data) {
    return fmt::format("code ran in the data of {}, which the file does not say to execute",
                       text::file_name(end.path));
  }
  if (id == RuleId::code_stack) return "code on a stack ran";
  return id == RuleId::code_heap ? "code on the heap ran" : "code that is in no file ran";
}

class CodeOutside final : public EdgeRule {
 public:
  CodeOutside(RuleId id, Jit jit) : EdgeRule(id), jit_(jit) {}

  std::optional<Verdict> judge(const Edge& edge, Locator& locator) const override {
    if (edge.to.kind == End::Kind::nowhere && edge.branch.kind <= BranchKind::ret) {
      if (id() != RuleId::code_unknown || is_vsyscall(edge.branch)) return std::nullopt;
      return Verdict{.reason = "leads to where no code is mapped"};
    }
    const bool from_outside = !edge.from.in_probes() && edge.branch.kind < BranchKind::ret;
    if (id() == RuleId::code_unknown && edge.to.in_probes() && from_outside) {
      return Verdict{.reason = "leads to the kernel's page of probes, as only returns do"};
    }
    if (id() == RuleId::code_unknown && is_false_closure(edge, locator)) {
      return Verdict{.reason = "code that looks like a closure of libffi leads elsewhere"};
    }
    if (id() == RuleId::code_unknown && asks_kernel(edge, locator)) {
      if (locator.awaits_maker(edge.from)) return Verdict{.awaits_maker = true};
      return Verdict{.reason = fmt::format("code that {} made executable makes a system call "
                                           "itself, as no code generator's does",
                                           text::file_name(locator.maker(edge.from))),
                     .cause = fmt::format("space {}, calls", edge.space)};
    }
    if (id() == RuleId::code_unknown && enters_inside(edge, locator)) {
      if (locator.awaits_maker(edge.from)) return Verdict{.awaits_maker = true};
      return Verdict{
          .grade = Grade::unexplained,
          .reason = fmt::format("code that {} made executable leads into a function, to where no "
                                "branch of its text and no address in its file leads",
                                text::file_name(locator.maker(edge.from))),
          .cause = fmt::format("space {}, enters", edge.space)};
    }
    if (!edge.to.outside() || rule_of(edge.to) != id()) return std::nullopt;
    // System calls, interrupts and exceptions, where the kernel was recorded, too.
    if (edge.branch.kind > BranchKind::ret && is_kernel(edge.to.address)) return std::nullopt;
    // Once where it is entered; what happens inside follows from that.
    const End& from = edge.branch.kind == BranchKind::begin ? edge.led_from : edge.from;
    if (from.outside() && rule_of(from) == id()) return std::nullopt;
    const std::string process = fmt::format("space {}", edge.space);
    if (lies_apart(edge.to) && is_begun_by_linker(edge) && jit_ != Jit::allow) {
      return Verdict{.reason = "the dynamic linker began code that is in no file",
                     .cause = process};
    }
    if (is_unknown(edge.to, edge, locator) && locator.awaits_maker(edge.to)) {
      return Verdict{.awaits_maker = true};
    }
    const std::string maker = maker_of(edge.to, edge.space, edge.branch.time, locator, jit_);
    if (!maker.empty()) {
      return Verdict{.grade = jit_ == Jit::report ? Grade::unusual : Grade::explained,
                     .reason = fmt::format("{}, made by {}", what_ran(id(), edge.to), maker),
                     .cause = process + ", generated"};
    }
    if (edge.to.kind == End::Kind::raw) {
      const std::string_view why = edge.to.data_of == nullptr
                                       ? "which is neither a program nor a library"
                                       : "which lies in none of the parts that it is loaded from";
      return Verdict{
          .grade = Grade::unexplained,
          .reason = fmt::format("code of {} ran, {}", text::file_name(edge.to.path), why),
          .cause = fmt::format("{}, {}", process, edge.to.path)};
    }
    if (is_nested_function(edge, locator)) {
      return Verdict{.grade = Grade::explained,
                     .reason = "a trampoline of a nested function ran",
                     .cause = process + ", trampolines"};
    }
    if (is_closure(edge, locator)) {
      return Verdict{.grade = Grade::explained,
                     .reason = "a closure of libffi ran",
                     .cause = process + ", closures"};
    }
    const std::string_view path = locator.maker(edge.to);
    const std::string asked =
        path.empty() ? "" : fmt::format(", which {} made executable", text::file_name(path));
    return Verdict{.reason = what_ran(id(), edge.to) + asked, .cause = process};
  }

 private:
  // A program or library in a file of memory, as no generator makes it; the linker may only return
  // to what one made.
  static bool is_begun_by_linker(const Edge& edge) {
    const BranchKind kind = edge.branch.kind;
    const bool calls = kind == BranchKind::icall || kind == BranchKind::ijmp;
    return calls && edge.from.known() && is_dynamic_linker(*edge.from.module);
  }

  // Shellcode does not know where the C library's functions are.
  bool asks_kernel(const Edge& edge, Locator& locator) const {
    const BranchKind kind = edge.branch.kind;
    const bool asks = kind == BranchKind::syscall || kind == BranchKind::int_ ||
                      (kind == BranchKind::end && is_int80(edge, locator));
    return asks && is_of_unknown_maker(edge, locator);
  }

  // In 64-bit programs it is an interruption to what records the path.
  static bool is_int80(const Edge& edge, Locator& locator) {
    constexpr std::array<std::uint8_t, 2> kCall = {0xcd, 0x80};
    return std::ranges::equal(
        locator.bytes(edge.space, edge.from.address, edge.branch.time, kCall.size()), kCall);
  }

  // Past what a function does first, as to the system call in one of the C library's. Generated
  // code calls functions, and goes on at what it was told: where it was called from, labels.
  bool enters_inside(const Edge& edge, Locator& locator) const {
    constexpr text::Marks kEntries = text::kStart | text::kTaken | text::kReturnSite |
                                     text::kLanding | text::kTableTarget | text::kLeader |
                                     text::kPlt;
    const End& to = edge.to;
    if (edge.branch.kind > BranchKind::ret || !to.known() || to.kept) return false;
    if (to.has(kEntries) || to.module->function(to.vaddr) == nullptr) return false;
    return is_of_unknown_maker(edge, locator);
  }

  // The branch is made by code that the program made by itself, or that may turn out to be so.
  bool is_of_unknown_maker(const Edge& edge, Locator& locator) const {
    if (lies_apart(edge.from) && locator.awaits_maker(edge.from)) return true;
    return is_unknown(edge.from, edge, locator) &&
           locator.made_itself(edge.from, edge.space, edge.branch.time);
  }

  // No generator that is known can have made it.
  bool is_unknown(const End& end, const Edge& edge, Locator& locator) const {
    return lies_apart(end) &&
           known_generator(end, edge.space, edge.branch.time, locator, jit_).empty();
  }

  // A trace may begin in the midst of one, of which it then has no more than the jump.
  static bool is_nested_function(const Edge& edge, Locator& locator) {
    if (is_trampoline(edge, edge.to.address, locator)) return true;
    if (edge.from.kind != End::Kind::absent) return false;
    for (std::uint64_t before = 1; before < text::kLongestTrampoline; ++before) {
      if (is_trampoline(edge, edge.to.address - before, locator)) return true;
    }
    return false;
  }

  // The trampoline leads to a function of a file that asks for a stack which can be executed. It
  // lies on one, which the program may have made itself, for a coroutine or its signal handlers.
  static bool is_trampoline(const Edge& edge, std::uint64_t address, Locator& locator) {
    const auto code =
        locator.bytes(edge.space, address, edge.branch.time, text::kLongestTrampoline);
    const isa::Mode mode = locator.mode(edge.space, edge.branch.time);
    const auto target = text::trampoline_target(code, address, mode);
    if (!target) return false;
    const End function = locator.end(edge.space, *target, edge.branch.time);
    return function.known() && function.module->executes_stack() && is_function(function) &&
           !text::is_sensitive(function.module->callee_name(function.vaddr));
  }

  // Of a file without symbols and unwind tables: what an instruction names and no function
  // contains.
  static bool is_function(const End& end) {
    if (end.has(text::kStart)) return true;
    return end.has(text::kNamed) && end.has(text::kInsn) &&
           end.module->function(end.vaddr) == nullptr;
  }

  // Where libffi writes what leads to it is its caller's affair: Python's cffi has memory of its
  // own for that.
  static bool is_closure(const Edge& edge, Locator& locator) {
    const auto files = locator.regions().files(edge.space, edge.branch.time);
    const auto is_loaded = [&](const session::MappedFile& file) {
      return is_libffi(file.path) && locator.modules().generator(file) != nullptr;
    };
    return std::ranges::any_of(files, is_loaded) && has_closure(edge, edge.to.address, locator);
  }

  // Code that only looks so, and that no generator made: where it leads says it.
  bool is_false_closure(const Edge& edge, Locator& locator) const {
    if (!edge.from.outside() || edge.branch.kind != BranchKind::ijmp) return false;
    if (edge.to.known() && edge.to.has(text::kStart) && is_libffi(edge.to.path)) return false;
    const bool looks_so = std::ranges::any_of(text::kClosureJumps, [&](std::uint64_t before) {
      return has_closure(edge, edge.from.address - before, locator);
    });
    return looks_so &&
           known_generator(edge.from, edge.space, edge.branch.time, locator, jit_).empty();
  }

  static bool has_closure(const Edge& edge, std::uint64_t address, Locator& locator) {
    return text::is_closure(
        locator.bytes(edge.space, address, edge.branch.time, text::kLongestClosure));
  }
  static bool is_libffi(std::string_view path) {
    return text::file_name(path).starts_with("libffi.so");
  }

  Jit jit_;
};

class CodeWritable final : public EdgeRule {
 public:
  CodeWritable() : EdgeRule(RuleId::code_writable) {}

  std::optional<Verdict> judge(const Edge& edge, Locator&) const override {
    using Writing = session::Region::Writing;
    const End& to = edge.to;
    if (!to.known() || to.writing == Writing::none) return std::nullopt;
    const std::string_view file = text::file_name(to.path);
    std::string cause = fmt::format("{}, page {:#x}", to.path, to.vaddr / kPage);
    if (to.module->relocates_text()) {
      return Verdict{.grade = Grade::explained,
                     .reason = fmt::format("{} has its text relocated (DT_TEXTREL)", file),
                     .cause = std::string(to.path)};
    }
    if (!to.module->patch_sites().empty()) {
      return Verdict{.grade = Grade::explained,
                     .reason = fmt::format("{} has sleds of XRay, which it patches", file),
                     .cause = std::string(to.path)};
    }
    return Verdict{.grade = Grade::unexplained,
                   .reason = fmt::format("code of {} ran {}", file,
                                         to.writing == Writing::now
                                             ? "in memory that the program may write to"
                                             : "that the program could have written to before"),
                   .cause = std::move(cause)};
  }
};

}  // namespace

std::unique_ptr<EdgeRule> make_code_outside(RuleId id, Jit jit) {
  return std::make_unique<CodeOutside>(id, jit);
}
std::unique_ptr<EdgeRule> make_code_writable() { return std::make_unique<CodeWritable>(); }

}  // namespace hodo::check
