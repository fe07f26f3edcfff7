#include "translate.h"

#include "cache.h"
#include "code_pages.h"
#include "code_report.h"
#include "emitter.h"
#include "flags.h"
#include "hodo/isa/encoding.h"
#include "insn_map.h"
#include "memory.h"
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
    if (entry == Entry::by_return) {
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
    if (is_volatile(ip)) hot_.bytes({0x0f, 0x1f, 0x44, 0, 0});  // NOP: what redirect() replaces
    if (is_checked(ip)) {
      checked(ip);
    } else {
      insns(ip);
    }
    map_.end(hot_.at());
  }

  // Tells the recorder which code has been translated.
  void report() const {
    ThreadArea& area = current_area();
    for (unsigned i = 0; i < piece_count_; ++i) {
      report_code(area, pieces_[i].start, pieces_[i].end - pieces_[i].start);
    }
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

  void insns(std::uint64_t ip) {
    for (unsigned count = 0;; ++count) {
      map_.add(ip, hot_.at(), pending_);
      if (count == most_insns_ || pending_ == kMaxOutcomes) return leave_to(ip);
      const unsigned readable = readable_bytes(ip);
      if (count > 0 && !checked_ && is_checked(ip)) return leave_to(ip);
      const Encoding e = isa::decode_encoding(code(ip), readable);
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
              is_checked(target_of(e, ip))) {
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
          if (e.opcode != 0x05) return ask(Exit::unsupported, ip);  // SYSENTER
          return ask(Exit::syscall, behind, ip);
        case InsnClass::int_:
        case InsnClass::xbegin:
        case InsnClass::iret:
        case InsnClass::far_call:
        case InsnClass::far_jmp:
        case InsnClass::far_ret:
          return ask(Exit::unsupported, ip);
        default:
          copy(e, ip);
      }
      ip = behind;
      if (e.cls == InsnClass::cond && find_fragment(ip) != nullptr) return leave_to(ip);
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
    if (zeros == 0 && !one) return;
    if (!flags_are_dead) return append_keeping_flags(out, zeros, one, exit);
    if (zeros > 0) out.bytes({0x49, 0xc1, 0xe3, zeros});  // SHL R11, zeros
    if (one) shift_in(out, 0, true);
    out.bytes({0x49, 0xf7, 0xc3, 0, 0, 0, 0x80});  // TEST R11, -1 << 31
    std::uint8_t* full = out.jump_if(0x5, nullptr);
    exit->resume = reinterpret_cast<std::uint64_t>(out.at());
    late_[late_count_++] = {full, exit, kGlueFull};
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
    late_[late_count_++] = {field, exit, kGlueExit};
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
    ++pending_;
  }

  // What was put off while the fragment was written.
  void stubs() {
    for (unsigned i = 0; i < conditional_count_; ++i) {
      const Taken& taken = conditional_[i];
      Emitter::point(taken.field, cold_.at());
      append(cold_, taken.zeros, true, taken.flags_are_dead, taken.exit);
      jump_to(cold_, taken.exit);
    }
    for (unsigned i = 0; i < late_count_; ++i) {
      Emitter::point(late_[i].field, cold_.at());
      if (late_[i].glue == kGlueExit) late_[i].exit->stub = cold_.at();
      request(cold_, late_[i].exit, late_[i].glue);
    }
    late_count_ = conditional_count_ = 0;
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
  void remember_call(Reg index, std::uint64_t return_address) {
    const unsigned r = index;
    load_top(index);
    hot_.bytes({0x8d, 0x40 | r << 3 | r, 4});  // LEA r32, [r + 4]
    store_top(index);
    hot_.bytes({0x0f, 0xb6, 0xc0 | r << 3 | r});  // MOVZX r32, r8
    set_call(index, call_site(return_address));
  }

  void call(const Encoding& e, std::uint64_t ip) {
    const std::uint64_t behind = ip + e.length;
    Exit* exit = make_exit(Exit::direct, target_of(e, ip));
    if (exit->target != behind) {  // a call to the next instruction only asks where it is
      hot_.store(spill(0), rax);
      remember_call(rax, behind);
      hot_.load(rax, spill(0));
    }
    push_return(behind);
    append(hot_, pending_, false, pending_ == 0 || flags_dead(exit->target), exit);
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
    hot_.jump(arena_.glue(kGlueMiss));
    hot_.bytes({0xff, 0x62, 0x08});  // JMP [RDX + landing]
    stubs();
  }

  // --- indirect jumps and calls ---

  void indirect(const Encoding& e, std::uint64_t ip) {
    shift_in(hot_, pending_, false);
    spill_three();
    load_target(e, ip);
    if (e.cls == InsnClass::icall) {
      remember_call(rcx, ip + e.length);
      push_return(ip + e.length);
    }
    hot_.move(rdx, 0);
    hot_.bytes({0xf2, 0x48, 0x0f, 0x38, 0xf1, 0xd0});  // CRC32 RDX, RAX
    hot_.bytes({0x0f, 0xb7, 0xd2});                    // MOVZX EDX, DX
    hot_.bytes({0x8d, 0x14, 0x12});                    // LEA EDX, [RDX + RDX]
    hot_.bytes({0x48, 0x8b, 0x0c, 0xd5});              // MOV RCX, [targets + RDX * 8]
    hot_.word(low(indirect_targets));
    hot_.bytes({0x48, 0x8d, 0x0c, 0x01});  // LEA RCX, [RCX + RAX]
    hot_.bytes({0xe3, 5});                 // JRCXZ
    hot_.jump(arena_.glue(kGlueMiss));
    hot_.bytes({0xff, 0x24, 0xd5});  // JMP [targets + 8 + RDX * 8]
    hot_.word(low(indirect_targets) + 8);
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

  // Everything that a TIP to here needs: the pending outcomes, the packet with this address, which
  // is compressed against the last one. SDM, "Target IP (TIP) Packet", "IP Compression".
  void tip(std::uint64_t ip) {
    const bool keep_flags = !flags_dead(ip);
    if (keep_flags) {
      hot_.bytes({0x9f, 0x0f, 0x90, 0xc0});  // LAHF; SETO AL
      hot_.store(kFlags, rax);
    }
    hot_.load(rcx, kCursor);
    write_outcomes();
    if (ip >> 32 == 0) {
      hot_.move(rdx, static_cast<std::uint32_t>(ip));
    } else {
      hot_.move64(rdx, ip);
    }
    hot_.load(rax, kLastIp);
    hot_.store(kLastIp, rdx);
    hot_.bytes({0x48, 0x31, 0xd0});        // XOR RAX, RDX
    hot_.bytes({0x48, 0xc1, 0xe8, 0x10});  // SHR RAX, 16
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
  }

  // [RCX]: the outcomes as one short TNT packet where they fit, else a long one; nothing if there
  // are none.
  void write_outcomes() {
    hot_.bytes({0x4c, 0x89, 0xd8});                 // MOV RAX, R11
    hot_.bytes({0x48, 0xc1, 0xe0, 0x10});           // SHL RAX, 16
    hot_.bytes({0x48, 0x0d, 0x02, 0xa3, 0, 0});     // OR RAX, long TNT
    hot_.bytes({0x4b, 0x8d, 0x14, 0x1b});           // LEA RDX, [R11 + R11]: short TNT
    hot_.bytes({0x49, 0x81, 0xfb, 0x80, 0, 0, 0});  // CMP R11, 128
    hot_.bytes({0x48, 0x0f, 0x42, 0xc2});           // CMOVB RAX, RDX
    hot_.bytes({0x19, 0xd2});                       // SBB EDX, EDX
    hot_.bytes({0x83, 0xe2, 0xf9});                 // AND EDX, -7
    hot_.bytes({0x83, 0xc2, 8});                    // ADD EDX, 8: 1 byte or 8
    hot_.bytes({0x49, 0x83, 0xfb, 2});              // CMP R11, 2
    hot_.bytes({0x83, 0xda, 0});                    // SBB EDX, 0: or none
    hot_.bytes({0x48, 0x89, 0x01});                 // MOV [RCX], RAX
    hot_.bytes({0x48, 0x01, 0xd1});                 // ADD RCX, RDX
  }

  // RAX: the difference to the last IP above its lowest 16 bits; RDX: the IP.
  void wide_tip(std::uint64_t ip, const std::uint8_t* done) {
    cold_.bytes({0x48, 0xc1, 0xe8, 0x10});  // SHR RAX, 16
    std::uint8_t* wider = cold_.jump_if(0x5, nullptr);
    cold_.bytes({0xc6, 0x01, 0x4d});  // MOV byte [RCX], TIP with 4 bytes
    cold_.bytes({0xc7, 0x41, 0x01});  // MOV dword [RCX + 1], IP
    cold_.word(static_cast<std::uint32_t>(ip));
    cold_.bytes({0x48, 0x83, 0xc1, 5});  // ADD RCX, 5
    cold_.jump(done);
    Emitter::point(wider, cold_.at());
    cold_.bytes({0x48, 0xc1, 0xe2, 0x08});  // SHL RDX, 8
    cold_.bytes({0x48, 0x83, 0xca, 0x6d});  // OR RDX, TIP with 6 bytes
    cold_.bytes({0x48, 0x89, 0x11});        // MOV [RCX], RDX
    cold_.bytes({0x48, 0x83, 0xc1, 7});     // ADD RCX, 7
    cold_.jump(done);
  }

  // --- the program's own instructions ---

  void copy(const Encoding& e, std::uint64_t ip) {
    std::uint8_t insn[16];
    std::memcpy(insn, code(ip), e.length);
    if (copies_simply(e)) return copy_simply(e);
    copy_bytes(e, insn, ip + e.length, true);
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
    for (const unsigned i : {0u, 1u}) {
      if (stand.reg[i] == StandIns::kNone) continue;
      const auto reg = static_cast<Reg>(stand.reg[i]);
      hot_.store(scratch(r10 + i), reg);
      hot_.load(reg, taken(r10 + i));
      rename(e, insn, r10 + i, reg);
    }
    emit(e, insn, behind);
    for (const unsigned i : {0u, 1u}) {
      if (stand.reg[i] == StandIns::kNone) continue;
      const auto reg = static_cast<Reg>(stand.reg[i]);
      if (may_write && is_operand(e, r10 + i)) hot_.store(taken(r10 + i), reg);
      hot_.load(reg, scratch(r10 + i));
    }
  }

  // Named by more than an address.
  static bool is_operand(const Encoding& e, unsigned reg) {
    using isa::RegisterField;
    for (const RegisterField field :
         {RegisterField::reg, RegisterField::rm, RegisterField::vvvv, RegisterField::opcode}) {
      if (e.named(field) == reg) return true;
    }
    return false;
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
    Glue glue;
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
  bool checked_ = false;
  unsigned most_insns_ = kMaxInsns;
  std::uint64_t end_ = 0;  // of the code that was read
  unsigned pending_ = 0;   // outcomes since the fragment's head, all "not taken"
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
