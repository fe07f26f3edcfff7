#include "edge.h"

#include <algorithm>
#include <array>

#include "names.h"

namespace hodo::check {
namespace {

// Code of a sigreturn, as sa_restorer points to it: mov rax, 15 or mov eax, 15, then syscall.
constexpr std::array<std::uint8_t, 9> kRestorer = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
constexpr std::array<std::uint8_t, 7> kShortRestorer = {0xb8, 15, 0, 0, 0, 0x0f, 0x05};
constexpr std::size_t kSyscallSize = 2;

template <class Code>
bool begins_with(const std::vector<std::uint8_t>& bytes, const Code& code) {
  return bytes.size() >= code.size() && std::equal(code.begin(), code.end(), bytes.begin());
}

bool is_sigreturn(const std::vector<std::uint8_t>& bytes) {
  return begins_with(bytes, kRestorer) || begins_with(bytes, kShortRestorer);
}

// A stack switch of the file that defines longjmp is longjmp's: its kin returns instead of jumping,
// but for the dynamic linker's resolver, which static programs contain, too.
bool is_longjmp(const End& end) {
  const symbol::SymbolTable& symbols = end.module->symbols();
  const symbol::Symbol* symbol = symbols.at(end.vaddr);
  if (symbol != nullptr && symbol->name.starts_with("_dl_")) return false;
  return !symbols.named("longjmp").empty() || !symbols.named("siglongjmp").empty();
}

}  // namespace

bool is_dynamic_linker(const Module& module) { return module.soname().starts_with("ld-linux"); }

End Locator::end(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
  End out{.address = address};
  if (address == 0) return out;
  const auto region = regions_->region(space, address, time);
  out.region = region ? region->id : session::Regions::kNoRegion;
  out.kept = region && region->kept;
  if (!region) {
    out.kind = End::Kind::nowhere;
    return out;
  }
  out.area = region->area;
  out.writing = region->writing;
  out.generated = region->generated;
  if (region->path.empty()) {
    out.kind = End::Kind::no_file;
    return out;
  }
  out.path = region->path;
  out.kind = region->path.starts_with('[') ? End::Kind::vdso : End::Kind::unread;
  if (region->location.empty()) return out;
  const Module* module = modules_.get(region->location);
  const auto vaddr = module == nullptr ? std::nullopt : module->elf().vaddr_of(region->file_offset);
  if (!vaddr) return out;
  out.kind = End::Kind::file;
  out.module = module;
  out.vaddr = *vaddr;
  out.marks = module->marks(*vaddr);
  return out;
}

std::uint32_t Locator::region(std::uint32_t space, std::uint64_t address,
                              std::uint64_t time) const {
  return address == 0 ? 0 : regions_->id(space, address, time);
}

std::vector<std::uint8_t> Locator::bytes(std::uint32_t space, std::uint64_t address,
                                         std::uint64_t time, std::size_t size) const {
  std::vector<std::uint8_t> out(size);
  out.resize(session_->read_code(space, address, time, out));
  return out;
}

Edge Locator::locate(std::uint32_t space, const Branch& branch) {
  Edge edge{.branch = branch, .space = space};
  edge.from = end(space, branch.from, branch.time);
  edge.to = end(space, branch.to, branch.time);
  if (branch.from != 0) {
    const auto code = bytes(space, branch.from, branch.time, 15);
    const auto insn = isa::decode(code, branch.from, isa::Mode::bits64);
    if (insn) edge.next = branch.from + insn->length;
  }
  edge.facts = facts(edge);
  return edge;
}

// By name through a slot, or by the dynamic linker, is no pointer of the program.
bool is_through_pointer(const Edge& edge) {
  const bool indirect =
      edge.branch.kind == BranchKind::icall || edge.branch.kind == BranchKind::ijmp;
  if (!indirect || edge.from.has(kPlt | kSwitchesStack)) return false;
  return !edge.from.known() || edge.from.module->slot_of(edge.from.vaddr) == nullptr;
}

PathFacts Locator::facts(const Edge& edge) const {
  PathFacts out = facts_of_target(edge);
  const auto unjudged = [](const End& e) {
    return e.kind == End::Kind::unread || e.kind == End::Kind::vdso;
  };
  if (unjudged(edge.from) || unjudged(edge.to)) out |= kUnjudged;
  if (edge.from.has(kSwitchesStack)) out |= kFromSwitch;
  if (edge.from.has(kSwitchesStack) && is_longjmp(edge.from)) out |= kFromLongjmp;
  if (edge.from.has(kPushedTarget)) out |= kFromPushed;
  if (edge.from.has(kStoredTarget)) out |= kFromStored;
  const bool other_file =
      edge.from.known() && edge.to.known() && edge.from.module != edge.to.module;
  if (other_file && edge.branch.kind == BranchKind::icall && is_dynamic_linker(*edge.from.module)) {
    out |= kFromLinker;
  }
  if (other_file && is_through_pointer(edge) &&
      loads_libraries(edge.to.module->name_at(edge.to.vaddr))) {
    out |= kToLoader;
  }
  if (edge.branch.kind == BranchKind::syscall) {
    for (const std::size_t size : {kRestorer.size(), kShortRestorer.size()}) {
      const std::uint64_t start = edge.branch.from - (size - kSyscallSize);
      const auto code = bytes(edge.space, start, edge.branch.time, size);
      if (code.size() == size && is_sigreturn(code)) out |= kSigreturn;
    }
  }
  return out;
}

PathFacts Locator::facts_of_target(const Edge& edge) const {
  const End& to = edge.to;
  PathFacts out = 0;
  if (to.kind == End::Kind::absent) return out;
  if (edge.branch.kind == BranchKind::ret &&
      is_sigreturn(bytes(edge.space, to.address, edge.branch.time, kRestorer.size()))) {
    out |= kToSigreturn;
  }
  if (!to.known()) return out;
  if (to.has(kStart)) {
    out |= kToFunction;
  } else if (to.has(kTaken)) {
    const Function* f = to.module->function(to.vaddr);
    out |= f == nullptr || f->begin == to.vaddr ? kToFunction : kToLabel;
  }
  if (to.has(kLanding)) out |= kToLanding;
  if (to.has(kReturnSite)) {
    out |= kToReturnSite;
    if (returns_twice(to.module->callee_before(to.vaddr))) out |= kToSetjmp;
  }
  if (to.module->elf().entry != 0 && to.vaddr == to.module->elf().entry) out |= kToImage;
  return out;
}

}  // namespace hodo::check
