#include "edge.h"

#include <algorithm>
#include <array>
#include <span>

#include "behind_data.h"
#include "hodo/base/page.h"
#include "hodo/symbol/symbol_table.h"
#include "hodo/text/names.h"
#include "hodo/text/return_address.h"
#include "loaded_text.h"
#include "makers.h"
#include "plain_jump.h"
#include "planted.h"
#include "pointer.h"
#include "resolver.h"
#include "sensitive.h"

namespace hodo::check {
namespace {

// Code of a sigreturn, as sa_restorer points to it, or as the kernel has it: mov rax, 15 or
// mov eax, 15, then syscall; in 32-bit code pop eax; mov eax, 119 (sigreturn), or mov eax, 173
// (rt_sigreturn), then int 0x80.
struct Restorer {
  isa::Mode mode;
  std::size_t size;
  std::array<std::uint8_t, 9> code;
};
constexpr std::array<Restorer, 4> kRestorers = {{
    {isa::Mode::bits64, 9, {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05}},
    {isa::Mode::bits64, 7, {0xb8, 15, 0, 0, 0, 0x0f, 0x05}},
    {isa::Mode::bits32, 8, {0x58, 0xb8, 119, 0, 0, 0, 0xcd, 0x80}},
    {isa::Mode::bits32, 7, {0xb8, 173, 0, 0, 0, 0xcd, 0x80}},
}};
constexpr std::size_t kLongestRestorer = 9;
constexpr std::size_t kSyscallSize = 2;  // of SYSCALL, SYSENTER and INT n

bool begins_with(const std::vector<std::uint8_t>& bytes, std::span<const std::uint8_t> code) {
  return std::ranges::equal(std::span(bytes).first(std::min(bytes.size(), code.size())), code);
}

bool begins_with(const std::vector<std::uint8_t>& bytes, const Restorer& restorer) {
  return begins_with(bytes, std::span(restorer.code).first(restorer.size));
}

// mov eax, NUMBER, then syscall: clone, fork, vfork and clone3, as libraries call them.
bool is_fork(const std::vector<std::uint8_t>& bytes, isa::Mode mode) {
  if (mode != isa::Mode::bits64 || bytes.size() < 7 || bytes[0] != 0xb8) return false;
  if (bytes[5] != 0x0f || bytes[6] != 0x05 || bytes[3] != 0 || bytes[4] != 0) return false;
  const unsigned number = bytes[1] + 256u * bytes[2];
  constexpr std::array<unsigned, 4> kNumbers = {56, 57, 58, 435};
  return std::ranges::find(kNumbers, number) != kNumbers.end();
}

// What a return thunk calls (GCC's -mfunction-return, output_indirect_thunk in i386.cc): the return
// address of that call only keeps the processor from guessing, and the RET behind is the thunk's
// user's.
bool drops_return_address(const std::vector<std::uint8_t>& bytes, isa::Mode mode) {
  constexpr std::array<std::uint8_t, 6> kLea64 = {0x48, 0x8d, 0x64, 0x24, 8, 0xc3};
  constexpr std::array<std::uint8_t, 5> kLea32 = {0x8d, 0x64, 0x24, 4, 0xc3};
  return mode == isa::Mode::bits64 ? begins_with(bytes, kLea64) : begins_with(bytes, kLea32);
}

bool is_sigreturn(const std::vector<std::uint8_t>& bytes, isa::Mode mode) {
  return std::ranges::any_of(kRestorers, [&](const Restorer& restorer) {
    return restorer.mode == mode && begins_with(bytes, restorer);
  });
}

// Where the kernel goes on behind a system call at `from`. Of SYSENTER it does not know where that
// was: it goes on behind the INT 0x80 that stands there in the vDSO for processors without
// (arch/x86/entry/vdso/vdso32/system_call.S).
std::uint64_t behind_call(const std::vector<std::uint8_t>& code, const isa::Insn& insn,
                          std::uint64_t from, isa::Mode mode) {
  const std::uint64_t next = from + insn.length;
  if (mode != isa::Mode::bits32 || insn.cls != isa::InsnClass::syscall) return next;
  const auto behind = std::span(code).subspan(insn.length);
  const bool has_int80 = behind.size() >= 2 && behind[0] == 0xcd && behind[1] == 0x80;
  return has_int80 ? next + kSyscallSize : next;
}

}  // namespace

bool demangles(const End& end) {
  constexpr std::uint64_t kReach = 80;  // __longjmp has 78 bytes before its jump
  constexpr std::array<std::uint8_t, 5> kSecret = {0x25, 0x30, 0, 0, 0};
  constexpr std::uint8_t kRotation = 17;
  if (end.module->mode() != isa::Mode::bits64 || end.vaddr < kReach) return false;
  auto code = end.module->bytes(end.vaddr - kReach);
  code = code.first(std::min<std::size_t>(code.size(), kReach));
  unsigned found = 0;
  while (true) {
    const auto secret = std::ranges::search(code, kSecret);
    if (secret.empty()) return found >= 2;
    // 48 C1 C8 11, 64 48 33 04 25 ...
    const auto before = static_cast<std::size_t>(secret.begin() - code.begin());
    if (before >= 5 && code[before - 5] == kRotation) ++found;
    code = code.subspan(before + 1);
  }
}

namespace {

// A stack switch of the file that defines longjmp, in a function without a name or with this one:
// static programs contain others, too.
bool is_longjmp(const End& end) {
  const symbol::SymbolTable& symbols = end.module->symbols();
  const symbol::Symbol* symbol = symbols.at(end.vaddr);
  if (symbol != nullptr && symbol->name.find("longjmp") == std::string_view::npos) return false;
  return !symbols.named("longjmp").empty() || !symbols.named("siglongjmp").empty();
}

// The function adds another stack's distance to RSP, ADD RSP, REG, as greenlets do: 0 for its own.
bool adds_to_stack_pointer(const End& end) {
  constexpr std::uint64_t kReach = 256;
  constexpr std::array<std::uint8_t, 2> kAdd = {0x48, 0x01};  // REX.W ADD, RAX to RDI
  constexpr std::size_t kLength = 3;
  const text::Function* function = end.module->function(end.vaddr);
  if (function == nullptr || end.module->mode() != isa::Mode::bits64) return false;
  const std::uint64_t begin = end.vaddr - std::min(end.vaddr - function->begin, kReach);
  for (std::uint64_t at = begin; at + kLength <= end.vaddr; ++at) {
    const auto code = end.module->bytes(at);
    if (code.size() < kLength || !std::ranges::equal(code.first(2), kAdd)) continue;
    constexpr std::uint8_t kToRsp = 0xc4;
    if ((code[2] & 0xc7) == kToRsp && end.module->has(at, text::kInsn)) return true;
  }
  return false;
}

// A branch leads between the load of RSP, MOV RSP, REG, and the return: it may have left out the
// load, as that of PyPy's continulets does where there is no other stack.
bool may_leave_out_load(const End& end) {
  constexpr std::uint64_t kReach = 64;
  constexpr std::array<std::uint8_t, 2> kMove = {0x48, 0x89};  // REX.W MOV, of RAX to RDI
  constexpr std::size_t kLength = 3;
  if (end.module->mode() != isa::Mode::bits64) return false;
  bool entered = false;
  for (std::uint64_t i = 0; i <= std::min(end.vaddr, kReach); ++i) {
    const auto code = end.module->bytes(end.vaddr - i);
    if (code.size() >= kLength && std::ranges::equal(code.first(2), kMove) &&
        end.module->has(end.vaddr - i, text::kInsn)) {
      constexpr std::uint8_t kToRsp = 0xc4;
      constexpr std::uint8_t kFromRbp = 0xec;
      if ((code[2] & 0xc7) == kToRsp && code[2] != kFromRbp) return entered;
    }
    if (end.module->has(end.vaddr - i, text::kLeader)) entered = true;
  }
  return false;
}

// Nothing goes on behind it: a jump, a return, INT3, or UD2, as stand behind calls that do not
// return.
bool ends_line(const isa::Insn& insn, std::span<const std::uint8_t> code) {
  constexpr std::uint8_t kInt3 = 0xcc;
  constexpr std::array<std::uint8_t, 2> kUd2 = {0x0f, 0x0b};
  using Class = isa::InsnClass;
  if (insn.cls == Class::jmp || insn.cls == Class::ijmp || insn.cls == Class::ret) return true;
  return code.front() == kInt3 || std::ranges::equal(code.first(insn.length), kUd2);
}

// An instruction behind what ends a line.
bool begins_line(const End& end) {
  constexpr std::uint64_t kLongest = 15;
  if (!end.has(text::kInsn) || end.has(text::kReturnSite)) return false;
  for (std::uint64_t length = 1; length <= std::min(kLongest, end.vaddr); ++length) {
    if (!end.module->has(end.vaddr - length, text::kInsn)) continue;
    const auto insn = end.module->insn(end.vaddr - length);
    if (!insn || insn->length != length) continue;
    return ends_line(*insn, end.module->bytes(end.vaddr - length));
  }
  return false;
}

// And to which no branch of the text leads: what is there can only be reached by an address, as
// where V8's entry handles exceptions.
bool is_reached_by_address(const End& end) {
  return !end.has(text::kLeader | text::kAwaited) && begins_line(end);
}

// Where a function goes on whose stack was loaded, by a table of its runtime's own. In files that
// do not say where functions are, data is read as code, too, and seems to lead anywhere; and
// handlers of GraalVM's programs are joined by other handlers.
bool may_be_handler(const End& end) {
  const bool covered = end.module->function(end.vaddr) != nullptr;
  return covered ? is_reached_by_address(end) : begins_line(end);
}

}  // namespace

bool restores_frame(const End& end) {
  constexpr std::array<std::uint8_t, 2> kLea = {0x48, 0x8d};
  constexpr std::uint8_t kRspByRbp = 0x65, kFarther = 0xa5;  // disp8, disp32
  if (!end.known() || end.module->mode() != isa::Mode::bits64) return false;
  const auto code = end.module->bytes(end.vaddr);
  if (code.size() <= kLea.size() || !std::ranges::equal(code.first(kLea.size()), kLea))
    return false;
  const std::uint8_t operands = code[kLea.size()];
  return (operands == kRspByRbp || operands == kFarther) && is_reached_by_address(end);
}

namespace {

// Where a function that makecontext started returns to: elsewhere a function of its own
// (__start_context), on i386 a label of makecontext.
bool ends_context(const End& end) {
  if (end.module->mode() != isa::Mode::bits32) return false;
  const symbol::Symbol* symbol = end.module->symbols().at(end.vaddr);
  return symbol != nullptr && symbol->name == "makecontext";
}

// NOPs of one byte lie between a place whose address is written down and this one: Go makes return
// addresses of functions so, since what unwinds a stack looks before them.
bool is_behind_nops(const End& end) {
  constexpr std::uint8_t kNop = 0x90;
  constexpr std::uint64_t kMost = 4;
  for (std::uint64_t i = 1; i <= std::min(kMost, end.vaddr); ++i) {
    const auto code = end.module->bytes(end.vaddr - i);
    if (code.empty() || code[0] != kNop) return false;
    if (end.module->has(end.vaddr - i, text::kTaken) &&
        end.module->has(end.vaddr - i, text::kStart)) {
      return true;
    }
  }
  return false;
}

// What code of other files can know: the names of a file's symbols tell no more than that they are
// not static.
bool is_global(const symbol::SymbolTable& symbols, std::uint64_t vaddr) {
  const auto at = std::ranges::equal_range(symbols.symbols(), vaddr, {}, &symbol::Symbol::start);
  return std::ranges::any_of(at, &symbol::Symbol::global);
}

// What a trace follows from end to end.
bool is_near(isa::InsnClass cls) {
  return cls >= isa::InsnClass::cond && cls <= isa::InsnClass::ret;
}

// Nothing that is to be had has the function's address. Where the analysis of pointers can say of
// which functions of compilers that is so, others (of assembly, of V8's own compiler) may be known
// by what the program computes. It knows what other files can ask for, too; else a function that is
// not static may be one of those.
bool is_untaken(const End& to) {
  if (to.has(text::kTaken | text::kTableTarget)) return false;
  if (to.module->knows_untaken()) return to.module->is_untaken(to.vaddr);
  return !is_global(to.module->symbols(), to.vaddr);
}

// Or a stub for one: in a program that does not move it is the function's address.
bool is_sensitive_start(const End& to) {
  if (to.has(text::kPlt)) return text::is_sensitive(to.module->callee_name(to.vaddr));
  const auto at = std::ranges::equal_range(to.module->symbols().symbols(), to.vaddr, {},
                                           &symbol::Symbol::start);
  return std::ranges::any_of(at,
                             [](const symbol::Symbol& s) { return text::is_sensitive(s.name); });
}

}  // namespace

bool is_dynamic_linker(const text::Module& module) {
  return module.soname().starts_with("ld-linux");
}

namespace {

// It is its own dynamic linker, and Debian's has no DT_SONAME.
bool is_musl(const text::Module& module) {
  constexpr std::array<std::string_view, 3> kDefines = {"__libc_start_main", "dlopen", "dlsym"};
  const image::Elf& elf = module.elf();
  return module.soname().empty() && elf.interpreter.empty() && elf.type == image::ElfType::dyn &&
         std::ranges::none_of(
             kDefines, [&](std::string_view name) { return module.symbols().named(name).empty(); });
}

}  // namespace

bool is_libc(const text::Module& module) {
  const std::string& name = module.soname();
  if (name.empty()) return is_musl(module);
  return name.starts_with("libc.so") || name.starts_with("libc.musl") ||
         name.starts_with("ld-musl") || is_dynamic_linker(module);
}

bool is_static_program(const text::Module& module) {
  const image::Elf& elf = module.elf();
  return elf.entry != 0 && elf.interpreter.empty() && module.soname().empty() &&
         module.needed().empty() && !is_libc(module);
}

bool is_called(const text::Module& module, std::uint64_t vaddr, std::string_view name) {
  if (module.has(vaddr, text::kPlt)) return module.callee_name(vaddr) == name;
  const auto has_name = [&](const symbol::Symbol& s) { return s.name == name; };
  if (std::ranges::any_of(module.names_at(vaddr), has_name)) return true;
  const auto exported = module.exported_names(vaddr);
  return std::ranges::find(exported, name) != exported.end();
}

namespace {

bool is_ifunc(const symbol::Symbol& symbol) { return symbol.kind == symbol::SymbolKind::ifunc; }

// The function is an IFUNC: which code it stands for is chosen when the program starts, by code
// that has the addresses of all that it may be. Those of libc have no names for others.
bool is_chosen(const End& to, std::string_view name) {
  const text::Module& module = *to.module;
  if (!std::ranges::any_of(module.symbols().named(name), is_ifunc)) return false;
  const auto names = module.names_at(to.vaddr);
  if (std::ranges::any_of(names,
                          [](const symbol::Symbol& s) { return text::is_sensitive(s.name); })) {
    return false;
  }
  const bool named = std::ranges::any_of(names, &symbol::Symbol::global);
  return is_libc(module) ? !named && to.has(text::kTaken) : !named || to.has(text::kTaken);
}

}  // namespace

bool is_named(const End& to, std::string_view name) {
  return is_called(*to.module, to.vaddr, name) || is_chosen(to, name);
}

End Locator::end(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
  if (const auto known = pages_.find(space, address, time)) return *known;
  End out = find(space, address, time);
  if (out.is_as_its_file()) keep_page(space, address, time);
  return out;
}

void Locator::keep_page(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
  const std::uint64_t first = address & ~(kPage - 1);
  const std::uint64_t last = address | (kPage - 1);
  const std::uint64_t until =
      std::min(regions_->id(space, first, time).until, regions_->id(space, last, time).until);
  pages_.add(space, time, until, find(space, first, time), find(space, last, time));
}

End Locator::find(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
  End out{.address = address};
  if (address == 0) return out;
  const auto region = regions_->region(space, address, time);
  out.region = region ? region->id : session::Regions::kNoRegion;
  out.in_kept = out.kept = region && region->kept;
  if (!region) {
    out.kind = End::Kind::nowhere;
    return out;
  }
  out.area = region->area;
  out.writing = region->writing;
  out.generated = region->generated;
  out.grant = region->grant;
  if (region->path.empty()) {
    out.kind = End::Kind::no_file;
    return out;
  }
  out.path = region->path;
  out.kind = region->path.starts_with('[') ? End::Kind::vdso : End::Kind::unread;
  if (region->location.empty()) return out;
  const text::Module* module = modules_.get(region->location);
  if (module == nullptr) {
    if (modules_.is_raw(region->location)) out.kind = End::Kind::raw;
    return out;
  }
  const auto vaddr = module->elf().vaddr_of(region->file_offset);
  if (!vaddr) {  // what was appended to it, for one
    out.kind = End::Kind::raw;
    out.data_of = module;
    return out;
  }
  out.vaddr = *vaddr;
  if (!module->is_text(*vaddr)) {
    out.kind = End::Kind::data;
    out.data_of = module;
    return out;
  }
  out.kind = End::Kind::file;
  out.module = module;
  out.marks = module->marks(*vaddr);
  out.kept = out.in_kept && differs(out, space, time);
  return out;
}

// The bytes of a region stay the same.
bool Locator::differs(const End& end, std::uint32_t space, std::uint64_t time) {
  const TextPart part = part_around(end);
  const std::tuple key(space, end.region, part.begin, part.size);
  if (const auto known = differ_.find(key); known != differ_.end()) return known->second;
  const std::uint64_t first = end.address - (end.vaddr - part.begin);
  const auto ran = bytes(space, first, time, part.size);
  const bool differs = first_difference(part, ran, as_loaded(end, part, ran)) != kNoDifference;
  if (differ_.size() >= kMostCopies) differ_.clear();
  differ_.emplace(key, differs);
  return differs;
}

std::string_view Locator::maker(const End& end) const {
  return makers_ != nullptr && end.grant ? makers_->maker(*end.grant) : std::string_view();
}

bool Locator::made_itself(const End& end, std::uint32_t space, std::uint64_t time) {
  if (makers_ == nullptr || !end.grant || !makers_->answers(*end.grant)) return false;
  const std::tuple key(space, end.region, end.address);
  if (const auto known = copies_.find(key); known != copies_.end()) return !known->second;
  const std::string_view path = maker(end);
  const auto files = regions_->files(space, time);
  const auto file = std::ranges::find(files, path, &session::MappedFile::path);
  if (file == files.end() || file->location.empty()) return false;
  const text::Module* module = modules_.get(file->location);
  if (module == nullptr) return false;
  if (copies_.size() >= kMostCopies) copies_.clear();
  return !copies_.try_emplace(key, may_be_copy(end, space, time, *module)).first->second;
}

bool Locator::may_be_copy(const End& end, std::uint32_t space, std::uint64_t time,
                          const text::Module& of) {
  constexpr std::size_t kLeast = 6;  // fewer bytes are in any file
  constexpr std::size_t kTelling = 16;
  constexpr std::size_t kCompared = 64;
  auto code = bytes(space, end.address, time, kCompared);
  if (code.size() < kLeast) return false;
  // A few instructions between two calls are in large files, too. What stands before them is not.
  std::uint64_t begin = end.address;
  while (code.size() < kTelling && begin > 0) {
    const auto before = bytes(space, --begin, time, 1);
    if (before.empty()) break;
    code.insert(code.begin(), before.front());
  }
  return data_.try_emplace(&of, of).first->second.has(code).value_or(true);
}

const Scope& Locator::scope(std::uint32_t space, std::uint64_t time) {
  auto files = regions_->files(space, time);
  if (!scope_ || files != in_scope_) {
    scope_.emplace(files, modules_);
    in_scope_ = std::move(files);
  }
  return *scope_;
}

session::Regions::Id Locator::region(std::uint32_t space, std::uint64_t address,
                                     std::uint64_t time) const {
  if (address == 0) return {.id = 0, .until = session::Regions::kNever};
  return regions_->id(space, address, time);
}

std::vector<std::uint8_t> Locator::bytes(std::uint32_t space, std::uint64_t address,
                                         std::uint64_t time, std::size_t size) const {
  std::vector<std::uint8_t> out(size);
  out.resize(session_->read_code(space, address, time, out));
  return out;
}

namespace {

bool is_indirect(isa::InsnClass cls) {
  return cls == isa::InsnClass::icall || cls == isa::InsnClass::ijmp;
}

// The bytes around a jump: REX prefixes stand before both the POP and the JMP, or before none.
bool ends_popped_return(std::span<const std::uint8_t> code) {
  if (code.size() < text::kLongestPoppedReturn) return false;
  return text::is_popped_return(code) || text::is_popped_return(code.subspan(1));
}

}  // namespace

Edge Locator::locate(std::uint32_t space, const Branch& seen) {
  Edge edge{.branch = seen, .space = space};
  const Branch& branch = edge.branch;
  if (seen.kind == BranchKind::begin) {
    edge.led_from = end(space, seen.from, seen.time);
    edge.branch.from = 0;
  }
  edge.from = end(space, branch.from, branch.time);
  edge.to = end(space, branch.to, branch.time);
  edge.mode = edge.from.known() ? edge.from.module->mode() : mode(space, branch.time);
  if (const auto next = next_of_plain_jump(branch, edge.from, edge.to)) {
    edge.next = *next;
    edge.plain = true;
    return edge;
  }
  if (branch.from != 0) {
    auto code = bytes(space, branch.from, branch.time, 15 + kSyscallSize);
    const bool interrupted = branch.kind > BranchKind::ret;  // by whatever it may be
    edge.at_breakpoint = interrupted && edge.from.is_breakpoint(code);
    if (edge.at_breakpoint) {
      const auto file = edge.from.module->bytes(edge.from.vaddr);
      code.assign(file.begin(),
                  file.begin() + static_cast<std::ptrdiff_t>(std::min(file.size(), code.size())));
    }
    const auto insn = isa::decode(code, branch.from, edge.mode);
    if (insn) edge.next = behind_call(code, *insn, branch.from, edge.mode);
    if (insn && interrupted) {
      if (is_near(insn->cls)) edge.facts = kFromNear;
      if (insn->cls == isa::InsnClass::far_call) edge.far = FarBranch::call;
      if (insn->cls == isa::InsnClass::far_jmp) edge.far = FarBranch::jump;
      if (insn->cls == isa::InsnClass::far_ret) edge.far = FarBranch::retf;
      if (insn->cls == isa::InsnClass::iret) edge.far = FarBranch::iret;
    }
    const bool by_pointer = branch.kind == BranchKind::icall || branch.kind == BranchKind::ijmp;
    edge.retpoline = by_pointer && insn && !is_indirect(insn->cls) && edge.from.known() &&
                     edge.from.module->pointer_of(edge.from.vaddr);
    edge.popped_return = branch.kind == BranchKind::ijmp && edge.from.known() &&
                         edge.mode == isa::Mode::bits64 &&
                         ends_popped_return(bytes(space, branch.from - text::kBeforePoppedJump,
                                                  branch.time, text::kLongestPoppedReturn));
    if (edge.popped_return) edge.branch.kind = BranchKind::ret;
  }
  edge.facts |= facts(edge);
  return edge;
}

namespace {

// A jump to right behind itself, in a file that does not say where functions are: not to one, but
// to where the code that switches stacks has its own goes on.
bool is_behind_itself(const Edge& edge) {
  const End& to = edge.to;
  return edge.branch.kind == BranchKind::ijmp && edge.branch.to == edge.next && to.known() &&
         to.has(text::kTaken) && !to.has(text::kStart) && to.module->function(to.vaddr) == nullptr;
}

}  // namespace

PathFacts Locator::facts(const Edge& edge) const {
  PathFacts out = facts_of_target(edge);
  const auto in_vdso = [](const End& e) { return e.kind == End::Kind::vdso && !e.in_probes(); };
  const auto unjudged = [&](const End& e) { return e.kind == End::Kind::unread || in_vdso(e); };
  // No recording has the vDSO's text. But a return leads there behind a call that was made there,
  // which is known as all calls are; a retpoline calls it.
  const bool back_to_vdso = edge.branch.kind == BranchKind::ret && edge.from.known() &&
                            in_vdso(edge.to) &&
                            !edge.from.has(text::kPushedTarget | text::kStoredTarget);
  if (back_to_vdso) out |= kToReturnSite;
  if (unjudged(edge.from) || (unjudged(edge.to) && !back_to_vdso)) out |= kUnjudged;
  const bool by_jump = edge.branch.kind == BranchKind::ijmp;
  if (edge.from.has(text::kSwitchesStack) || (by_jump && restores_frame(edge.to)))
    out |= kFromSwitch;
  // Which calls return twice is only known by names.
  const bool jumps = by_jump && edge.from.has(text::kSwitchesStack);
  const bool unnamed = jumps && !edge.to.has(text::kReturnSite) && demangles(edge.from);
  if (edge.from.has(text::kSwitchesStack) && (unnamed || is_longjmp(edge.from)))
    out |= kFromLongjmp;
  const bool by_pointer =
      edge.branch.kind == BranchKind::icall || edge.branch.kind == BranchKind::ijmp;
  if (by_pointer && edge.from.known() && is_resolver(edge.from)) out |= kFromResolver;
  if (edge.from.has(text::kResumes) && edge.to.has(text::kInsn)) out |= kResumes;
  if (edge.from.has(text::kPushedTarget)) out |= kFromPushed;
  if (edge.from.has(text::kStoredTarget)) {
    out |= kFromStored;
    if (edge.to.has(text::kTableTarget)) out |= kToLabel;  // a switch, or a goto of computed labels
  }
  if (edge.branch.kind == BranchKind::call &&
      drops_return_address(bytes(edge.space, edge.to.address, edge.branch.time, 6), edge.mode)) {
    out |= kOpensNothing;
  }
  // On i386 the linker goes on by a return.
  const bool jumps_on = edge.mode == isa::Mode::bits64;
  if (jumps_on && edge.from.known() && (edge.from.has(text::kPlt) || edge.retpoline) &&
      edge.from.module == edge.to.module) {
    const text::Slot* const slot = slot_called(edge);
    if (slot != nullptr && slot->initial == edge.to.vaddr) out |= kAsksLinker;
  }
  const bool may_skip = (out & (kFromSwitch | kToFunction)) == 0 && !edge.popped_return;
  if (may_skip && goes_behind_arguments(edge)) out |= kToArguments;
  const bool other_file =
      edge.from.known() && edge.to.known() && edge.from.module != edge.to.module;
  if (other_file) out |= kToOtherFile;
  const bool own = edge.from.known() && edge.from.module == edge.to.module &&
                   edge.from.module->same_function(edge.from.vaddr, edge.to.vaddr);
  // What a table of its function leads to is as good as a label.
  if ((out & kFromSwitch) != 0 && own && edge.to.has(text::kTableTarget)) out |= kToLabel;
  if ((out & kToLabel) != 0 && own) out |= kToOwnLabel;
  const bool switches = (out & kFromSwitch) != 0;
  constexpr PathFacts kByName = kFromResolver | kToImage;
  const bool begins = by_jump && (out & kToFunction) != 0 && (out & kByName) == 0;
  if (switches && begins && edge.to.known() && edge.to.module->is_untaken(edge.to.vaddr)) {
    out |= kToUntaken;  // as call.function judges other jumps
  }
  if (switches && is_behind_itself(edge)) {
    out = (out & ~PathFacts{kToFunction}) | kToLabel | kToOwnLabel;
  }
  if (switches && edge.branch.kind == BranchKind::ret &&
      (adds_to_stack_pointer(edge.from) || may_leave_out_load(edge.from))) {
    out |= kMayStay;
  }
  constexpr PathFacts kElse = kToFunction | kToLabel | kToReturnSite | kToLanding;
  const bool same_file = edge.from.known() && edge.from.module == edge.to.module;
  if (switches && same_file && (out & kElse) == 0 && may_be_handler(edge.to)) {
    out |= by_jump ? kToLabel | kToUntaken : PathFacts{kToLabel};
  }
  // What its resolver has found is called by name, and the program's entry point begins it.
  const bool calls_on = by_jump && (out & (kFromSwitch | kFromResolver | kToImage)) == 0;
  if (other_file && (edge.branch.kind == BranchKind::icall || calls_on) &&
      is_dynamic_linker(*edge.from.module)) {
    out |= kFromLinker;
  }
  const bool enters = edge.branch.kind == BranchKind::ijmp && (out & kToFunction) != 0;
  if (enters && planted_distance(edge.from)) out |= kPlantsReturn;
  if (text::loads_libraries(reached_through_pointer(edge))) out |= kToLoader;
  const bool calls =
      edge.branch.kind == BranchKind::syscall || edge.branch.kind == BranchKind::int_;
  if (calls && !edge.at_breakpoint) {
    const std::uint64_t number = edge.branch.from - std::min<std::uint64_t>(edge.branch.from, 5);
    if (is_fork(bytes(edge.space, number, edge.branch.time, 7), edge.mode)) out |= kForks;
    for (const Restorer& restorer : kRestorers) {
      if (restorer.mode != edge.mode) continue;
      const std::uint64_t start = edge.branch.from - (restorer.size - kSyscallSize);
      const auto code = bytes(edge.space, start, edge.branch.time, restorer.size);
      if (begins_with(code, restorer)) out |= kSigreturn;
    }
  }
  return out;
}

namespace {

// A function that returns twice, or a stub for one.
bool begins_twice(const End& end) {
  if (end.has(text::kPlt)) return text::returns_twice(end.module->callee_name(end.vaddr));
  if (!end.has(text::kStart)) return false;
  return std::ranges::any_of(end.module->names_at(end.vaddr), text::returns_twice,
                             &symbol::Symbol::name);
}

// Behind a call of such a function. What the calling code has put into the register that it calls
// is looked up for switches of stacks alone: of returns the call itself has told.
bool is_behind_twice(const Edge& edge) {
  const End& to = edge.to;
  const std::string_view callee = to.module->callee_before(to.vaddr);
  if (!callee.empty() || !edge.from.has(text::kSwitchesStack)) return text::returns_twice(callee);
  const auto call = to.module->call_before(to.vaddr);
  return call && std::ranges::any_of(to.module->may_call(*call).names, text::returns_twice);
}

}  // namespace

PathFacts Locator::facts_of_target(const Edge& edge) const {
  const End& to = edge.to;
  PathFacts out = 0;
  if (to.kind == End::Kind::absent) return out;
  if (edge.branch.kind == BranchKind::ret &&
      is_sigreturn(bytes(edge.space, to.address, edge.branch.time, kLongestRestorer), edge.mode)) {
    out |= kToSigreturn;
  }
  if (!to.known()) return out;
  if (to.has(text::kStart)) {
    out |= kToFunction;
  } else if (to.has(text::kTaken)) {
    const text::Function* f = to.module->function(to.vaddr);
    const bool starts = f == nullptr || f->begin == to.vaddr || ends_context(to);
    out |= starts ? kToFunction : kToLabel;
  }
  if (edge.branch.kind == BranchKind::ret && (out & kToFunction) == 0 && is_behind_nops(to)) {
    return out | kToFunction;
  }
  if ((out & kToFunction) != 0 && edge.branch.kind >= BranchKind::ret) {  // neither call nor jump
    if (is_untaken(to)) out |= kToUntaken;
    if (is_sensitive_start(to)) out |= kToSensitive;
  }
  if (to.has(text::kLanding) || restores_frame(to)) out |= kToLanding;
  const BranchKind kind = edge.branch.kind;
  const bool calls = kind == BranchKind::call || kind == BranchKind::icall;
  if ((calls || !to.has(text::kReturnSite)) && begins_twice(to)) out |= kToSetjmp;
  if (to.has(text::kReturnSite)) {
    out |= kToReturnSite;
    if (!calls && is_behind_twice(edge)) out |= kToSetjmp;
  }
  if (to.module->elf().entry != 0 && to.vaddr == to.module->elf().entry) out |= kToImage;
  return out;
}

}  // namespace hodo::check
