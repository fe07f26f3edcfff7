#include "translate.h"

#include "block_calls.h"
#include "cache.h"
#include "code_pages.h"
#include "code_report.h"
#include "emitter.h"
#include "filters.h"
#include "flags.h"
#include "hodo/isa/encoding.h"
#include "insn_map.h"
#include "memory.h"
#include "recording.h"
#include "stand_ins.h"
#include "sys.h"
#include "threads.h"

namespace hodo::engine {
namespace {

using isa::Encoding;
using isa::InsnClass;

constexpr std::size_t kUnit = offsetof(ThreadArea, unit);
constexpr std::size_t kCursor = kUnit + unit::InlinePt::kCursor;
constexpr std::size_t kLimit = kUnit + unit::InlinePt::kLimit;
constexpr std::size_t kLastIp = kUnit + unit::InlinePt::kLastIp;
constexpr std::size_t kCalls = offsetof(ThreadArea, calls);
constexpr std::size_t kTop = offsetof(ThreadArea, calls_top);
constexpr std::size_t taken(unsigned reg) { return offsetof(ThreadArea, taken) + 8 * (reg - r10); }
constexpr std::size_t scratch(unsigned reg) {
  return offsetof(ThreadArea, scratch) + 8 * (reg - r10);
}
constexpr std::size_t kFlags = offsetof(ThreadArea, flags);
constexpr std::size_t kProgramStack = offsetof(ThreadArea, registers.rsp);
constexpr std::size_t spill(unsigned i) { return offsetof(ThreadArea, spill) + 8 * i; }

// Outcomes that one way through a fragment may leave pending without a look at how many there are.
// With the 31 that are let pass before and the one of a landing they fit into one long TNT packet.
constexpr unsigned kMaxOutcomes = 8;
constexpr unsigned kMaxInsns = 100;  // a fragment takes less room than arena_near() sees to

std::uint32_t low(const void* address) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(address));
}

Exit* make_exit(Exit::Kind kind, std::uint64_t target) {
  Exit* exit = new (allocate_low(sizeof(Exit))) Exit;
  exit->kind = kind;
  exit->target = target;
  return exit;
}

class Translator {
 public:
  explicit Translator(std::uint64_t ip)
      : arena_(arena_near(ip)), hot_(arena_.hot), cold_(arena_.cold) {}
  ~Translator() {
    arena_.hot = hot_.at();
    arena_.cold = cold_.at();
  }

  std::uint8_t* at() const { return hot_.at(); }

  void landing(std::uint64_t ip, Entry entry) {
    if (entry == Entry::by_tip) check_target(ip);
    if (by_blocks) {
      if (entry != Entry::direct) restore_spilled();
    } else if (entry == Entry::by_return) {
      restore_spilled();
      append(hot_, 0, true, flags_dead(ip), make_exit(Exit::flush, ip));
    } else if (entry == Entry::by_tip) {
      tip(ip);
    }
  }

  // Ends in a jump to a fragment that there is.
  void continue_at(const std::uint8_t* head) {
    std::uint8_t* field = hot_.jump(nullptr);
    if (!Emitter::reaches(field, head)) die("a fragment lies out of reach of its landing");
    Emitter::point(field, head);
    stubs();
  }

  // Emits the fragment that begins at `ip`.
  void body(std::uint64_t ip) {
    (void)readable_bytes(ip);  // so that it is known whether it is checked
    map_.begin(arena_, ip, hot_.at());
    if (is_volatile(ip)) {
      hot_.bytes({0x0f, 0x1f, 0x44, 0, 0});  // NOP: what redirect() replaces
      if (!by_blocks && is_recorded(current_area())) pass_time(ip);
    }
    if (is_checked(ip)) {
      checked(ip);
    } else {
      insns(ip);
    }
    map_.end(code_end_);
  }

  // Tells the recorder which code has been translated.
  void report() const {
    ThreadArea& area = current_area();
    for (unsigned i = 0; i < piece_count_; ++i) {
      report_code(area, pieces_[i].start, pieces_[i].end - pieces_[i].start);
    }
    if (told_ == nullptr) return;
    const std::uint32_t count = reports();
    std::memcpy(told_, &count, sizeof(count));
  }

  // The head of a fragment that may be dropped while threads run there.
  void make_patchable(std::uint64_t ip) {
    if (!is_volatile(ip)) return;
    while (reinterpret_cast<std::uint64_t>(hot_.at()) % 8 > 3) hot_.byte(0x90);
  }

 private:
  // Compares the code before it runs. It is in one piece.
  void checked(std::uint64_t ip) {
    checked_ = true;
    auto* check = static_cast<CodeCheck*>(allocate_low(sizeof(CodeCheck) + 16 * (kMaxInsns + 1)));
    check->ip = ip;
    hot_.store(spill(0), rax);
    hot_.move(rax, low(check));
    hot_.jump(arena_.glue(kGlueCheck));
    check->resume = reinterpret_cast<std::uint64_t>(hot_.at());
    if (modifies_itself(ip)) most_insns_ = 1;
    insns(ip);
    check->bytes = end_ - ip;
    std::memcpy(check->copy(), code(ip), check->bytes);
  }

  // Another thread may come here that was not told of this code yet: its packets have to say that
  // it is past that time.
  void pass_time(std::uint64_t ip) {
    const bool dead = flags_dead(ip);
    if (!dead) {
      hot_.store(spill(0), rax);
      hot_.bytes({0x9f, 0x0f, 0x90, 0xc0});  // LAHF; SETO AL
    }
    hot_.bytes({0x41, 0x81});  // CMP dword [reports_seen], count
    hot_.operand(7, offsetof(ThreadArea, reports_seen));
    told_ = hot_.at();
    hot_.word(0);
    std::uint8_t* field = hot_.jump_if(0x2, nullptr);
    if (!dead) {
      hot_.bytes({0x04, 0x7f, 0x9e});  // ADD AL, 127; SAHF
      hot_.load(rax, spill(0));
    }
    Exit* exit = make_exit(Exit::flush, ip);
    exit->resume = reinterpret_cast<std::uint64_t>(hot_.at());
    Emitter::point(field, cold_.at());
    if (!dead) {
      cold_.bytes({0x04, 0x7f, 0x9e});
      cold_.load(rax, spill(0));
    }
    request(cold_, exit, kGlueFlush);
  }

  void insns(std::uint64_t ip) {
    for (unsigned count = 0;; ++count) {
      map_.add(ip, hot_.at(), pending_);
      if (count == most_insns_ || pending_ == kMaxOutcomes) return leave_to(ip);
      const unsigned readable = readable_bytes(ip);
      if (count > 0 && !checked_ && is_checked(ip)) return leave_to(ip);
      const Encoding e = isa::decode_encoding(code(ip), readable);
      if (by_blocks && !add_to_block(e, ip)) return leave_to(ip);
      end_ = ip + e.length;
      if (e.length == 0) return ask(Exit::unsupported, ip);
      const std::uint64_t behind = ip + e.length;
      note_piece(ip, behind);
      switch (e.cls) {
        case InsnClass::cond:
          conditional(e, ip);
          break;
        case InsnClass::jmp:
          if (find_fragment(target_of(e, ip)) != nullptr || target_of(e, ip) <= ip || checked_ ||
              by_blocks || is_checked(target_of(e, ip))) {
            return leave_to(target_of(e, ip));
          }
          ip = target_of(e, ip);
          continue;
        case InsnClass::call:
          return call(e, ip);
        case InsnClass::icall:
        case InsnClass::ijmp:
          return indirect(e, ip);
        case InsnClass::ret:
          return ret(e, ip);
        case InsnClass::syscall:
          if (is_unsupported(e)) return ask(Exit::unsupported, ip);
          return ask(Exit::syscall, behind, ip);
        default:
          if (ends_block(e, ip)) return ask(Exit::interrupt, ip, behind);
          if (is_unsupported(e)) return ask(Exit::unsupported, ip);
          copy(e, ip);
      }
      ip = behind;
      if (e.cls == InsnClass::cond && (by_blocks || find_fragment(ip) != nullptr)) {
        return leave_to(ip);
      }
    }
  }

  static bool is_unsupported(const Encoding& e) {
    switch (e.cls) {
      case InsnClass::syscall:
        return e.opcode != 0x05;  // SYSENTER
      case InsnClass::int_:
      case InsnClass::xbegin:
      case InsnClass::iret:
      case InsnClass::far_call:
      case InsnClass::far_jmp:
      case InsnClass::far_ret:
        return true;
      default:
        return e.length == 0;
    }
  }

  // --- tracing by blocks ---

  // A software interrupt that programs may make (idt_setup_traps() in the kernel); others fault. It
  // runs outside of the cache, but its branch is known before it does.
  static bool ends_block(const Encoding& e, std::uint64_t ip) {
    if (!by_blocks || e.cls != InsnClass::int_) return false;
    if (e.opcode != 0xcd) return true;  // INT3, INT1
    const std::uint8_t vector = code(ip)[e.imm_at];
    return vector == 3 || vector == 4 || vector == 0x80;
  }

  // False: the block ends in front of this instruction. The call in front of the first one.
  bool add_to_block(const Encoding& e, std::uint64_t ip) {
    const bool first = site_ == nullptr;
    if (is_unsupported(e) && !ends_block(e, ip)) return first;
    const bool excluded = is_excluded(ip);
    if (!first && excluded != site_->excluded) return false;
    if (first) {
      site_ = new (allocate_low(sizeof(BlockSite), 32)) BlockSite;
      site_->block.start = ip;
      site_->excluded = excluded;
      call_unit(flags_dead(ip));
    }
    describe_last(e, ip);
    return true;
  }

  void call_unit(bool flags_are_dead) {
    hot_.store(spill(0), rax);
    hot_.store(kProgramStack, rsp);
    hot_.load(rsp, offsetof(ThreadArea, engine_stack));
    hot_.move(rax, low(site_));
    hot_.call(arena_.glue(flags_are_dead ? kGlueBlock : kGlueBlockKeep));
    hot_.load(rsp, kProgramStack);
    hot_.load(rax, spill(0));
  }

  void describe_last(const Encoding& e, std::uint64_t ip) {
    unit::Block& b = site_->block;
    b.size = static_cast<std::uint16_t>(b.size + e.length);
    ++b.insns;
    b.last = e.length;
    b.cls = e.cls;
    switch (e.cls) {
      case InsnClass::cond:
        b.taken = target_of(e, ip), b.other = b.end(), b.tnt = 1;
        return;
      case InsnClass::jmp:
      case InsnClass::call:
        b.taken = b.other = target_of(e, ip);
        // SDM, "RET Compression": a call to the next instruction will not be returned from.
        if (e.cls == InsnClass::call && b.taken != b.end()) b.flags |= unit::Block::kPushes;
        return;
      case InsnClass::icall:
        b.flags |= unit::Block::kPushes;
        [[fallthrough]];
      case InsnClass::ijmp:
      case InsnClass::ret:
      case InsnClass::syscall:
      case InsnClass::int_:
        b.taken = b.other = unit::Block::kNowhere;
        return;
      default:
        b.cls = InsnClass::other;
        b.taken = b.other = b.end();
    }
  }

  void note_piece(std::uint64_t ip, std::uint64_t behind) {
    if (piece_count_ == 0 || pieces_[piece_count_ - 1].end != ip) {
      pieces_[piece_count_++] = {ip, ip};
    }
    pieces_[piece_count_ - 1].end = behind;
  }

  static const std::uint8_t* code(std::uint64_t ip) {
    return reinterpret_cast<const std::uint8_t*>(ip);
  }

  static std::uint64_t target_of(const Encoding& e, std::uint64_t ip) {
    return isa::direct_target(e, code(ip), ip);
  }

  // --- outcomes ---

  // Not taken `zeros` times, then taken once if `one`, without touching flags or looking for room.
  static void shift_in(Emitter& out, unsigned zeros, bool one) {
    for (; zeros >= 3; zeros -= 3) {  // LEA R11, [R11 * 8]
      out.bytes({0x4e, 0x8d, 0x1c, 0xdd});
      out.word(0);
    }
    for (; zeros > 0; --zeros) out.bytes({0x4f, 0x8d, 0x1c, 0x1b});  // LEA R11, [R11 + R11]
    if (one) out.bytes({0x4f, 0x8d, 0x5c, 0x1b, 0x01});              // LEA R11, [R11 + R11 + 1]
  }

  // The same, and writes them out if 31 or more are pending.
  void append(Emitter& out, unsigned zeros, bool one, bool flags_are_dead, Exit* exit) {
    if (by_blocks || (zeros == 0 && !one)) return;
    if (!flags_are_dead) return append_keeping_flags(out, zeros, one, exit);
    if (zeros > 0) out.bytes({0x49, 0xc1, 0xe3, zeros});  // SHL R11, zeros
    if (one) shift_in(out, 0, true);
    out.bytes({0x49, 0xf7, 0xc3, 0, 0, 0, 0x80});  // TEST R11, -1 << 31
    std::uint8_t* full = out.jump_if(0x5, nullptr);
    exit->resume = reinterpret_cast<std::uint64_t>(out.at());
    late_[late_count_++] = {full, exit, Late::full};
  }

  // As append(): by JRCXZ, which reads no flags.
  void append_keeping_flags(Emitter& out, unsigned zeros, bool one, Exit* exit) {
    shift_in(out, zeros, one);
    out.store(spill(1), rcx);
    out.bytes({0x4c, 0x89, 0xd9});     // MOV RCX, R11
    out.bytes({0x48, 0x0f, 0xc9});     // BSWAP RCX
    out.bytes({0x89, 0xc9});           // MOV ECX, ECX: bits 32 to 63 of R11
    out.bytes({0xe3, 4 + 4 + 5 + 5});  // JRCXZ
    out.load(rcx, spill(1));
    request(out, exit, kGlueFlush);
    exit->resume = reinterpret_cast<std::uint64_t>(out.at());
    out.load(rcx, spill(1));
  }

  void request(Emitter& out, const Exit* exit, Glue glue) {
    out.store(spill(0), rax);
    out.move(rax, low(exit));
    out.jump(arena_.glue(glue));
  }

  // --- ways out ---

  void leave_to(std::uint64_t target) {
    Exit* exit = make_exit(Exit::direct, target);
    append(hot_, pending_, false, pending_ == 0 || flags_dead(target), exit);
    jump_to(hot_, exit);
    stubs();
  }

  void jump_to(Emitter& out, Exit* exit) {
    // A displacement that is patched lies in one cache line: whoever executes it sees the old or
    // the new one.
    while ((reinterpret_cast<std::uint64_t>(out.at()) + 1) % 64 > 60) out.byte(0x90);
    std::uint8_t* field = out.jump(nullptr);
    const std::uint8_t* head = find_fragment(exit->target);
    if (head != nullptr && Emitter::reaches(field, head)) return Emitter::point(field, head);
    exit->displacement = field;
    late_[late_count_++] = {field, exit, Late::unlinked};
  }

  void ask(Exit::Kind kind, std::uint64_t target, std::uint64_t ip = 0) {
    Exit* exit = make_exit(kind, target);
    exit->resume = ip;
    shift_in(hot_, pending_, false);
    request(hot_, exit, kGlueExit);
    stubs();
  }

  void conditional(const Encoding& e, std::uint64_t ip) {
    const std::uint64_t target = target_of(e, ip);
    Exit* exit = make_exit(Exit::direct, target);
    const bool dead = flags_dead(target);
    if (e.map == 0 && e.opcode >= 0xe0) {  // LOOP, JRCXZ: 8 bits of displacement only
      if (e.address32) hot_.byte(0x67);
      hot_.bytes({e.opcode, 2, 0xeb, 5});
      conditional_[conditional_count_++] = {hot_.jump(nullptr), exit, pending_, dead};
    } else if (target <= ip) {  // most likely a loop: let it stay here
      std::uint8_t* over = hot_.jump_if((e.opcode & 15u) ^ 1, nullptr);
      append(hot_, pending_, true, dead, exit);
      jump_to(hot_, exit);
      Emitter::point(over, hot_.at());
    } else {
      std::uint8_t* field = hot_.jump_if(e.opcode & 15u, nullptr);
      conditional_[conditional_count_++] = {field, exit, pending_, dead};
    }
    if (!by_blocks) ++pending_;
  }

  // What was put off while the fragment was written.
  void stubs() {
    code_end_ = hot_.at();
    for (unsigned i = 0; i < conditional_count_; ++i) {  // half of them run often
      const Taken& taken = conditional_[i];
      Emitter::point(taken.field, hot_.at());
      append(hot_, taken.zeros, true, taken.flags_are_dead, taken.exit);
      jump_to(hot_, taken.exit);
    }
    for (unsigned i = 0; i < late_count_; ++i) {
      Emitter::point(late_[i].field, cold_.at());
      if (late_[i].what == Late::full) {
        write_full(late_[i].exit);
      } else {
        late_[i].exit->stub = cold_.at();
        request(cold_, late_[i].exit, kGlueExit);
      }
    }
    late_count_ = conditional_count_ = 0;
  }

  // The outcomes as a long TNT packet; flags are free.
  void write_full(Exit* exit) {
    cold_.store(spill(1), rcx);
    cold_.load(rcx, kCursor);
    cold_.bytes({0x49, 0xc1, 0xe3, 0x10});              // SHL R11, 16
    cold_.bytes({0x49, 0x81, 0xcb, 0x02, 0xa3, 0, 0});  // OR R11, long TNT
    cold_.bytes({0x4c, 0x89, 0x19});                    // MOV [RCX], R11
    cold_.bytes({0x41, 0xbb, 1, 0, 0, 0});              // MOV R11D, no outcomes
    cold_.bytes({0x48, 0x83, 0xc1, 8});                 // ADD RCX, 8
    cold_.store(kCursor, rcx);
    cold_.area(0x3b, rcx, kLimit);  // CMP RCX, limit
    cold_.load(rcx, spill(1));
    Emitter::point(cold_.jump_if(0x2, nullptr),
                   reinterpret_cast<const std::uint8_t*>(exit->resume));
    request(cold_, exit, kGlueFlush);
  }

  // Where a target is no address, it is the branch that fails.
  static void note_branch(Emitter& out, std::uint64_t ip) {
    auto* branch = static_cast<std::uint64_t*>(allocate_low(sizeof(std::uint64_t)));
    *branch = ip;
    out.bytes({0x41, 0xc7, 0x42, offsetof(ThreadArea, branch)});  // MOV dword [R10 + disp8], branch
    out.word(low(branch));
  }

  // --- calls and returns ---

  void push_return(std::uint64_t address) {
    if (address < 0x8000'0000) {
      hot_.byte(0x68);  // PUSH imm32
      hot_.word(static_cast<std::uint32_t>(address));
      return;
    }
    cold_.align(8);
    hot_.bytes({0xff, 0x35});  // PUSH [RIP + disp32]
    hot_.word(static_cast<std::uint32_t>(cold_.at() - (hot_.at() + 4)));
    cold_.quad(address);
  }

  void load_top(Reg to) {  // MOVZX r32, byte [top]
    hot_.bytes({0x41, 0x0f, 0xb6});
    hot_.operand(to, kTop);
  }
  void store_top(Reg from) {  // MOV [top], r8: of RAX and RCX
    hot_.bytes({0x41, 0x88});
    hot_.operand(from, kTop);
  }
  void set_call(Reg index, const CallSite* site) {  // MOV dword [calls + index], site
    hot_.bytes({0x41, 0xc7, 0x44, 0x02u | unsigned{index} << 3, kCalls});
    hot_.word(low(site));
  }

  // Remembers the call, by way of a register that is free.
  void remember_call(Reg index, std::uint64_t return_address, bool flags_are_dead) {
    const unsigned r = index;
    if (flags_are_dead) {
      hot_.bytes({0x41, 0x80});  // ADD byte [top], 4
      hot_.operand(0, kTop);
      hot_.byte(4);
      load_top(index);
    } else {
      load_top(index);
      hot_.bytes({0x8d, 0x40 | r << 3 | r, 4});  // LEA r32, [r + 4]
      store_top(index);
      hot_.bytes({0x0f, 0xb6, 0xc0 | r << 3 | r});  // MOVZX r32, r8
    }
    set_call(index, call_site(return_address));
  }

  void call(const Encoding& e, std::uint64_t ip) {
    const std::uint64_t behind = ip + e.length;
    Exit* exit = make_exit(Exit::direct, target_of(e, ip));
    const bool dead = flags_dead(exit->target);
    if (exit->target != behind) {  // a call to the next instruction only asks where it is
      hot_.store(spill(0), rax);
      remember_call(rax, behind, dead);
      hot_.load(rax, spill(0));
    }
    push_return(behind);
    append(hot_, pending_, false, dead, exit);
    jump_to(hot_, exit);
    stubs();
  }

  void spill_three() {
    hot_.store(spill(0), rax);
    hot_.store(spill(1), rcx);
    hot_.store(spill(2), rdx);
  }

  void restore_spilled() {
    hot_.load(rax, spill(0));
    hot_.load(rcx, spill(1));
    hot_.load(rdx, spill(2));
  }

  void ret(const Encoding& e, std::uint64_t ip) {
    shift_in(hot_, pending_, false);
    spill_three();
    load_top(rax);
    hot_.bytes({0x41, 0x8b, 0x54, 0x02, kCalls});  // MOV EDX, [calls + RAX]
    set_call(rax, no_call);
    hot_.bytes({0x8d, 0x40, 0xfc});  // LEA EAX, [RAX - 4]
    store_top(rax);
    hot_.byte(0x58);                       // POP RAX
    hot_.bytes({0x48, 0x8b, 0x0a});        // MOV RCX, [RDX]
    hot_.bytes({0x48, 0x8d, 0x0c, 0x01});  // LEA RCX, [RCX + RAX]
    if (e.imm_size == 2) {
      hot_.bytes({0x48, 0x8d, 0xa4, 0x24});  // LEA RSP, [RSP + imm]
      hot_.bytes({code(ip)[e.imm_at], code(ip)[e.imm_at + 1], 0, 0});
    }
    hot_.bytes({0xe3, 5});  // JRCXZ
    hot_.jump(cold_.at());
    note_branch(cold_, ip);
    cold_.jump(arena_.glue(kGlueMiss));
    hot_.bytes({0xff, 0x62, 0x08});  // JMP [RDX + landing]
    stubs();
  }

  // --- indirect jumps and calls ---

  void indirect(const Encoding& e, std::uint64_t ip) {
    shift_in(hot_, pending_, false);
    spill_three();
    load_target(e, ip);
    if (e.cls == InsnClass::icall) {
      remember_call(rcx, ip + e.length, false);
      push_return(ip + e.length);
    }
    hot_.move(rdx, 0);
    hot_.bytes({0xf2, 0x48, 0x0f, 0x38, 0xf1, 0xd0});  // CRC32 RDX, RAX
    hot_.bytes({0x0f, 0xb7, 0xd2});                    // MOVZX EDX, DX
    note_branch(hot_, ip);
    hot_.bytes({0xff, 0x24, 0xd5});  // JMP [first_landings + RDX * 8]
    hot_.word(low(first_landings));
    stubs();
  }

  // MOV RAX, operand of the branch. Spilled registers still hold the program's values.
  void load_target(const Encoding& e, std::uint64_t ip) {
    std::uint8_t insn[16];
    std::memcpy(insn, code(ip), e.length);
    Encoding load = e;
    if (!e.has_prefix) {  // REX goes right before the opcode
      std::memmove(insn + e.opcode_at + 1, insn + e.opcode_at, e.length - e.opcode_at);
      load.prefix_at = e.opcode_at;
      load.has_prefix = true;
      ++load.opcode_at;
      ++load.modrm_at;
      if (load.sib_at != 0) ++load.sib_at;
      if (load.disp_at != 0) ++load.disp_at;
      ++load.length;
      insn[load.prefix_at] = 0x40;
    }
    insn[load.prefix_at] = static_cast<std::uint8_t>((insn[load.prefix_at] | 8) & ~4);
    insn[load.opcode_at] = 0x8b;
    insn[load.modrm_at] &= 0xc7;
    load.rex = insn[load.prefix_at];
    copy_bytes(load, insn, ip + e.length, false);
  }

  // Goes on only where RAX is `ip`.
  void check_target(std::uint64_t ip) {
    const std::uint64_t negated = 0 - ip;
    if (ip < 0x8000'0000) {
      hot_.bytes({0x48, 0x8d, 0x88});  // LEA RCX, [RAX - ip]
      hot_.word(static_cast<std::uint32_t>(negated));
    } else {
      hot_.move64(rcx, negated);
      hot_.bytes({0x48, 0x8d, 0x0c, 0x01});  // LEA RCX, [RCX + RAX]
    }
    hot_.bytes({0xe3, 5});  // JRCXZ
    hot_.jump(arena_.glue(kGlueMiss));
  }

  // Everything that a TIP to here needs: the pending outcomes, the packet with this address, which
  // RAX has and which is compressed against the last one. SDM, "Target IP (TIP) Packet", "IP
  // Compression".
  void tip(std::uint64_t ip) {
    const bool keep_flags = !flags_dead(ip);
    if (keep_flags) {
      hot_.bytes({0x48, 0x89, 0xc2});        // MOV RDX, RAX
      hot_.bytes({0x9f, 0x0f, 0x90, 0xc0});  // LAHF; SETO AL
      hot_.store(kFlags, rax);
      hot_.bytes({0x48, 0x89, 0xd0});  // MOV RAX, RDX
    }
    hot_.load(rcx, kCursor);
    std::uint8_t* more = write_outcomes();
    const std::uint8_t* outcomes_written = hot_.at();
    hot_.load(rdx, kLastIp);
    hot_.store(kLastIp, rax);
    hot_.bytes({0x48, 0x31, 0xc2});        // XOR RDX, RAX
    hot_.bytes({0x48, 0xc1, 0xea, 0x10});  // SHR RDX, 16
    std::uint8_t* wide = hot_.jump_if(0x5, nullptr);
    hot_.bytes({0xc7, 0x01});  // MOV dword [RCX], TIP with 2 bytes
    hot_.word(0x2d | static_cast<std::uint32_t>(ip & 0xffff) << 8);
    hot_.bytes({0x48, 0x83, 0xc1, 3});  // ADD RCX, 3
    const std::uint8_t* done = hot_.at();
    hot_.store(kCursor, rcx);
    hot_.bytes({0x41, 0xbb, 1, 0, 0, 0});  // MOV R11D, no outcomes
    hot_.area(0x3b, rcx, kLimit);          // CMP RCX, limit
    std::uint8_t* at_limit = hot_.jump_if(0x3, nullptr);
    Exit* exit = make_exit(Exit::flush, ip);
    exit->resume = reinterpret_cast<std::uint64_t>(hot_.at());
    if (keep_flags) {
      hot_.load(rax, kFlags);
      hot_.bytes({0x04, 0x7f, 0x9e});  // ADD AL, 127; SAHF
    }
    restore_spilled();

    Emitter::point(at_limit, cold_.at());
    cold_.move(rax, low(exit));
    cold_.jump(arena_.glue(kGlueFlush));
    Emitter::point(wide, cold_.at());
    wide_tip(ip, done);
    Emitter::point(more, cold_.at());
    write_more_outcomes(outcomes_written);
  }

  // [RCX]: up to six outcomes as a short TNT packet, nothing if there are none. The branch to where
  // more are written.
  std::uint8_t* write_outcomes() {
    hot_.bytes({0x43, 0x8d, 0x14, 0x1b});                    // LEA EDX, [R11 + R11]
    hot_.bytes({0x89, 0x11});                                // MOV [RCX], EDX
    hot_.bytes({0x49, 0x83, 0xfb, 2});                       // CMP R11, 2
    hot_.bytes({0x48, 0x83, 0xd9, 0xff});                    // SBB RCX, -1
    hot_.bytes({0x49, 0xf7, 0xc3, 0x80, 0xff, 0xff, 0xff});  // TEST R11, -128
    return hot_.jump_if(0x5, nullptr);
  }

  // From one byte before [RCX]: as two or three short packets where they fit, else a long one.
  void write_more_outcomes(const std::uint8_t* done) {
    std::uint8_t* more_than_two = jump_if_outcomes(2);
    first_of_short(6);
    other_short(0, 0);
    cold_.bytes({0x48, 0x83, 0xc1, 1});  // ADD RCX, 1
    cold_.jump(done);
    Emitter::point(more_than_two, cold_.at());
    std::uint8_t* more_than_three = jump_if_outcomes(3);
    first_of_short(12);
    other_short(6, 0);
    other_short(0, 1);
    cold_.bytes({0x48, 0x83, 0xc1, 2});  // ADD RCX, 2
    cold_.jump(done);
    Emitter::point(more_than_three, cold_.at());
    cold_.bytes({0x4c, 0x89, 0xda});                    // MOV RDX, R11
    cold_.bytes({0x48, 0xc1, 0xe2, 0x10});              // SHL RDX, 16
    cold_.bytes({0x48, 0x81, 0xca, 0x02, 0xa3, 0, 0});  // OR RDX, long TNT
    cold_.bytes({0x48, 0x89, 0x51, 0xff});              // MOV [RCX - 1], RDX
    cold_.bytes({0x48, 0x83, 0xc1, 7});                 // ADD RCX, 7
    cold_.jump(done);
  }

  // To where there are more than fit into so many short packets.
  std::uint8_t* jump_if_outcomes(unsigned packets) {
    cold_.bytes({0x49, 0x81, 0xfb});  // CMP R11, stop bit behind them
    cold_.word(2u << (6 * packets));
    return cold_.jump_if(0x3, nullptr);
  }
  // Those above the lowest `shift`, under the stop bit that they have.
  void first_of_short(unsigned shift) {
    cold_.bytes({0x44, 0x89, 0xda});   // MOV EDX, R11D
    cold_.bytes({0xc1, 0xea, shift});  // SHR EDX, shift
    cold_.bytes({0x01, 0xd2});         // ADD EDX, EDX
    cold_.bytes({0x88, 0x51, 0xff});   // MOV [RCX - 1], DL
  }
  // Six from there, under a stop bit of their own, to [RCX + at].
  void other_short(unsigned shift, unsigned at) {
    cold_.bytes({0x44, 0x89, 0xda});  // MOV EDX, R11D
    if (shift != 0) cold_.bytes({0xc1, 0xea, shift});
    cold_.bytes({0x83, 0xe2, 0x3f});                 // AND EDX, 63
    cold_.bytes({0x8d, 0x94, 0x12, 0x80, 0, 0, 0});  // LEA EDX, [RDX + RDX + 128]
    cold_.bytes({0x88, 0x51, at});                   // MOV [RCX + at], DL
  }

  // RDX: the difference to the last IP above its lowest 16 bits; RAX: the IP.
  void wide_tip(std::uint64_t ip, const std::uint8_t* done) {
    cold_.bytes({0x48, 0xc1, 0xea, 0x10});  // SHR RDX, 16
    std::uint8_t* wider = cold_.jump_if(0x5, nullptr);
    cold_.bytes({0xc6, 0x01, 0x4d});  // MOV byte [RCX], TIP with 4 bytes
    cold_.bytes({0xc7, 0x41, 0x01});  // MOV dword [RCX + 1], IP
    cold_.word(static_cast<std::uint32_t>(ip));
    cold_.bytes({0x48, 0x83, 0xc1, 5});  // ADD RCX, 5
    cold_.jump(done);
    Emitter::point(wider, cold_.at());
    cold_.bytes({0x48, 0xc1, 0xe0, 0x08});  // SHL RAX, 8
    cold_.bytes({0x48, 0x83, 0xc8, 0x6d});  // OR RAX, TIP with 6 bytes
    cold_.bytes({0x48, 0x89, 0x01});        // MOV [RCX], RAX
    cold_.bytes({0x48, 0x83, 0xc1, 7});     // ADD RCX, 7
    cold_.jump(done);
  }

  // --- the program's own instructions ---

  void copy(const Encoding& e, std::uint64_t ip) {
    std::uint8_t insn[16];
    std::memcpy(insn, code(ip), e.length);
    if (copies_simply(e)) return copy_simply(e);
    const InPlace place = in_place(e);
    if (place != InPlace::no) return copy_in_place(e, insn, place);
    copy_bytes(e, insn, ip + e.length, true);
  }

  // With the place of our register in memory instead: in_place().
  void copy_in_place(const Encoding& e, const std::uint8_t* insn, InPlace place) {
    const unsigned wide = e.rex & 8;
    if (place == InPlace::both) {  // CMP 0 for TEST, AND 0 for XOR, which clears all 64 bits
      const bool test = e.opcode == 0x85;
      hot_.bytes({0x41 | (test ? wide : 8), 0x83});
      hot_.operand(test ? 7 : 4, taken(e.rm()));
      return hot_.byte(0);
    }
    const bool turned = place == InPlace::reg;
    const unsigned ours = turned ? e.reg() : e.rm();
    const unsigned other = turned ? e.rm() : e.modrm >> 3 & 7;
    const unsigned rex_r = turned ? (e.rex & 1u) << 2 : e.rex & 4u;
    hot_.copy(insn, e.prefix_at);
    hot_.byte(0x41 | wide | rex_r);
    hot_.copy(insn + e.prefix_at + 1, e.opcode_at - e.prefix_at - 1u);
    hot_.byte(turned ? operands(e).turned : e.opcode);
    hot_.operand(other & 7, taken(ours));
    hot_.copy(insn + e.modrm_at + 1, e.length - e.modrm_at - 1u);
  }

  // Without another register, where copies_simply().
  void copy_simply(const Encoding& e) {
    if ((e.opcode & 0xf0) == 0x50) {
      const bool push = e.opcode < 0x58;
      hot_.bytes({0x41, push ? 0xffu : 0x8fu});
      hot_.operand(push ? 6 : 0, taken(e.named(isa::RegisterField::opcode)));
      return;
    }
    const unsigned from = e.opcode == 0x89 ? e.reg() : e.rm();
    const unsigned to = e.opcode == 0x89 ? e.rm() : e.reg();
    if (is_taken(from)) {
      hot_.load(static_cast<Reg>(to), taken(from));
    } else {
      hot_.store(taken(to), static_cast<Reg>(from));
    }
  }

  // Emits the instruction with other registers in the place of ours, and with its displacement from
  // RIP mended. `insn` lay before `behind`.
  void copy_bytes(const Encoding& e, std::uint8_t* insn, std::uint64_t behind, bool may_write) {
    const StandIns stand = stand_ins(e);
    const bool faults = e.map != 0 || e.opcode != 0x8d;  // all but LEA
    for (const unsigned i : {0u, 1u}) {
      const StandIns::One& one = stand.of[i];
      if (one.reg == StandIns::kNone) continue;
      const auto reg = static_cast<Reg>(one.reg);
      if (one.comes_back || faults) hot_.store(scratch(r10 + i), reg);
      if (one.is_read) hot_.load(reg, taken(r10 + i));
      rename(e, insn, r10 + i, reg);
    }
    emit(e, insn, behind);
    for (const unsigned i : {0u, 1u}) {
      const StandIns::One& one = stand.of[i];
      if (one.reg == StandIns::kNone) continue;
      const auto reg = static_cast<Reg>(one.reg);
      if (may_write && one.is_written) hot_.store(taken(r10 + i), reg);
      if (one.comes_back) hot_.load(reg, scratch(r10 + i));
    }
  }

  void emit(const Encoding& e, std::uint8_t* insn, std::uint64_t behind) {
    if (e.rip_relative) {
      std::int32_t distance = 0;
      std::memcpy(&distance, insn + e.disp_at, 4);
      const std::uint64_t target = behind + static_cast<std::uint64_t>(std::int64_t{distance});
      const std::int64_t moved = static_cast<std::int64_t>(
          target - (reinterpret_cast<std::uint64_t>(hot_.at()) + e.length));
      distance = static_cast<std::int32_t>(moved);
      if (distance != moved) die("an operand lies out of reach", behind);
      std::memcpy(insn + e.disp_at, &distance, 4);
    }
    hot_.copy(insn, e.length);
  }

  static void rename(const Encoding& e, std::uint8_t* insn, unsigned reg, Reg stand_in) {
    using isa::RegisterField;
    const auto bits = static_cast<std::uint8_t>(stand_in & 7);
    const auto set = [&](RegisterField field, unsigned at, unsigned shift) {
      if (e.named(field) != reg) return;
      insn[at] = static_cast<std::uint8_t>((insn[at] & ~(7u << shift)) | bits << shift);
      if (stand_in >= r8) return;  // as ours
      const unsigned extends = field == RegisterField::index ? 2 : 1;
      insn[e.prefix_at] = static_cast<std::uint8_t>(insn[e.prefix_at] & ~extends);
    };
    set(RegisterField::reg, e.modrm_at, 3);
    set(RegisterField::rm, e.modrm_at, 0);
    set(RegisterField::base, e.sib_at != 0 ? e.sib_at : e.modrm_at, 0);
    set(RegisterField::index, e.sib_at, 3);
    set(RegisterField::opcode, e.opcode_at, 0);
    if (e.named(RegisterField::vvvv) == reg) {
      const unsigned at = e.prefix_at + (e.form == isa::Form::vex2 ? 1u : 2u);
      insn[at] = static_cast<std::uint8_t>((insn[at] & ~0x78u) | (~unsigned{stand_in} & 15u) << 3);
    }
  }

  struct Late {
    std::uint8_t* field;
    Exit* exit;
    enum { full, unlinked } what;
  };
  struct Taken {
    std::uint8_t* field;
    Exit* exit;
    unsigned zeros;
    bool flags_are_dead;
  };

  Arena& arena_;
  Emitter hot_, cold_;
  InsnMapWriter map_;
  BlockSite* site_ = nullptr;
  std::uint8_t* told_ = nullptr;  // how many reports a thread must have seen
  bool checked_ = false;
  unsigned most_insns_ = kMaxInsns;
  std::uint64_t end_ = 0;             // of the code that was read
  std::uint8_t* code_end_ = nullptr;  // of its copy
  unsigned pending_ = 0;              // outcomes since the fragment's head, all "not taken"
  Late late_[4 * kMaxOutcomes + 8];
  unsigned late_count_ = 0;
  Taken conditional_[kMaxOutcomes + 1];
  unsigned conditional_count_ = 0;
  struct Piece {
    std::uint64_t start, end;
  };
  Piece pieces_[kMaxInsns];  // of the program's code
  unsigned piece_count_ = 0;
};

}  // namespace

Fragment translate(std::uint64_t ip, Entry entry) {
  Translator translator(ip);
  Fragment made;
  made.landing = translator.at();
  begin_fragment();
  readable_bytes(ip);
  translator.landing(ip, entry);
  translator.make_patchable(ip);
  made.head = translator.at();
  add_fragment(ip, made.head);
  translator.body(ip);
  end_fragment(ip, made.head);
  translator.report();
  return made;
}

std::uint8_t* make_landing(std::uint64_t ip, Entry entry, std::uint8_t* head) {
  Translator translator(ip);
  std::uint8_t* landing = translator.at();
  translator.landing(ip, entry);
  translator.continue_at(head);
  return landing;
}

}  // namespace hodo::engine
