#include "translate.h"

#include "area_code.h"
#include "arena.h"
#include "block_calls.h"
#include "cache.h"
#include "call_code.h"
#include "code_pages.h"
#include "code_report.h"
#include "copy_insn.h"
#include "edition.h"
#include "emitter.h"
#include "filters.h"
#include "flags.h"
#include "hodo/isa/encoding.h"
#include "insn_map.h"
#include "low_memory.h"
#include "outcome_code.h"
#include "recording.h"
#include "sys.h"
#include "target_code.h"
#include "threads.h"
#include "tip_code.h"
#include "trap_flag.h"

namespace hodo::engine {
namespace {

using isa::Encoding;
using isa::InsnClass;

// Outcomes that one way through a fragment may add. With the 31 that its head lets pass and the one
// of a landing they fit into one long TNT packet.
constexpr unsigned kMaxOutcomes = 8;
constexpr unsigned kMaxInsns = 100;  // a fragment takes less room than arena_near() sees to

std::uint64_t target_of(const Encoding& e, std::uint64_t ip) {
  return isa::direct_target(e, code(ip), ip);
}

// Adds the instruction at `ip` to a block, the last one so far.
void extend(unit::Block& b, const Encoding& e, std::uint64_t ip) {
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
    choose_pages(arena_);
  }

  std::uint8_t* at() const { return hot_.at(); }

  // Returns where it begins.
  std::uint8_t* landing(std::uint64_t ip, Entry entry) {
    if (entry == Entry::direct) return hot_.at();
    std::uint8_t* begin = TargetCode(hot_, arena_).check(ip);
    if (by_blocks) {
      restore_spilled(hot_);
    } else if (entry == Entry::by_return) {
      restore_spilled(hot_);
      shift_in(hot_, 0, true);
    } else if (entry == Entry::by_tip) {
      const bool keep_flags = !flags_dead(ip);
      TipCode(hot_, cold_, arena_).write(ip, keep_flags, make_flush(ip));
    }
    return begin;
  }

  // The same.
  std::uint8_t* outcomes_of(const Exit& branch) {
    std::uint8_t* begin = hot_.at();
    append_outcomes(hot_, branch.zeros, true, branch.target);
    return begin;
  }

  // Ends in a jump to a fragment that there is. It may be in an arena on the other side of the
  // code, too far for a displacement: where a program has reserved what lies nearby.
  void continue_at(const std::uint8_t* head) {
    if (Emitter::reaches(hot_.at() + 1, head)) {
      Emitter::point(hot_.jump(nullptr), head);
    } else {
      hot_.bytes({0xff, 0x25, 0, 0, 0, 0});  // JMP [RIP + 0]
      hot_.quad(reinterpret_cast<std::uint64_t>(head));
    }
    stubs();
  }

  // Emits the fragment that begins at `ip`.
  void body(std::uint64_t ip) {
    (void)readable_bytes(ip);  // so that it is known whether it is checked
    map_.begin(arena_, ip, hot_.at());
    add_fragment(ip, arena_, arena_.fragment_count);
    if (is_volatile(ip)) {
      hot_.bytes({0x0f, 0x1f, 0x44, 0, 0});  // NOP: what redirect() replaces
      if (!by_blocks && is_recorded(current_area())) pass_time(ip);
    }
    if (!by_blocks) room_.look(ip);
    if (is_checked(ip)) {
      checked(ip);
    } else {
      insns(ip);
    }
    map_.end(code_end_);
  }

  // Tells the recorder which code has been translated. True: it knew other code there.
  bool report() const {
    ThreadArea& area = current_area();
    for (unsigned i = 0; i < piece_count_; ++i) count_translated(pieces_[i].end - pieces_[i].start);
    bool others = false;
    for (unsigned i = 0; i < piece_count_; ++i) {
      const Piece& piece = pieces_[i];
      others = report_code(area, piece.start, piece.end - piece.start) || others;
    }
    if (told_ == nullptr) return others;
    const std::uint32_t count = reports();
    std::memcpy(told_, &count, sizeof(count));
    return others;
  }

  // Of the code, in one piece, that it compares before it runs; 0: it does not.
  std::uint64_t checked_bytes(std::uint64_t ip) const { return checked_ ? end_ - ip : 0; }

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
    Flush* flush = make_flush(ip);
    flush->resume = reinterpret_cast<std::uint64_t>(hot_.at());
    Emitter::point(field, cold_.at());
    if (!dead) {
      cold_.bytes({0x04, 0x7f, 0x9e});
      cold_.load(rax, spill(0));
    }
    request(cold_, arena_, flush, kGlueFlush);
  }

  void insns(std::uint64_t ip) {
    for (unsigned count = 0;; ++count) {
      if (count > 0) map_.add(ip, hot_.at(), pending_);
      if (count == most_insns_ || pending_ == kMaxOutcomes) return leave_to(ip);
      const unsigned readable = readable_bytes(ip);
      if (count > 0 && !checked_ && is_checked(ip)) return leave_to(ip);
      const Encoding e = isa::decode_encoding(code(ip), readable);
      if (count > 0 && e.length == 0) return leave_to(ip);  // by itself, as it may not stay so
      if (by_blocks && !add_to_block(e, ip)) return leave_to(ip);
      // Behind what the head looks at, too: an instruction that repeats, or waits for its memory
      // (userfaultfd), stands there when a signal comes, and would else go on until it is done.
      const bool entered = !by_blocks || site_ != nullptr;
      if (count == 0 && entered) map_.add(ip, hot_.at(), 0);
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
          return ask(Exit::syscall, behind, e.length);
        default:
          if (ends_block(e, ip)) return ask(Exit::interrupt, ip, e.length);
          if (is_unsupported(e)) return ask(Exit::unsupported, ip);
          if (pops_flags(e)) look_at_flags(ip);
          if (tells_x87_place(e)) name_x87_place(count);
          InsnCopier(hot_).copy(e, ip);
      }
      ip = behind;
      if (e.cls == InsnClass::cond && (by_blocks || find_fragment(ip) != nullptr)) {
        return leave_to(ip);
      }
    }
  }

  // FNSTENV, FNSAVE, FXSAVE and the XSAVEs of programs store where the x87 unit's last instruction
  // stood.
  static bool tells_x87_place(const Encoding& e) {
    if (e.form != isa::Form::legacy || !e.has_memory()) return false;
    const unsigned extension = e.modrm >> 3 & 7u;
    if (e.map == 0) return (e.opcode == 0xd9 || e.opcode == 0xdd) && extension == 6;
    if (e.map != 1 || e.operand16 || e.rep != 0) return false;
    if (e.opcode == 0xae) return extension == 0 || extension == 4 || extension == 6;
    return e.opcode == 0xc7 && extension == 4;
  }

  // There is room for one of these in a fragment.
  void name_x87_place(unsigned count) {
    hot_.store(spill(0), rax);
    hot_.store(kProgramStack, rsp);
    hot_.load(rsp, offsetof(ThreadArea, engine_stack));
    hot_.call(arena_.glue(kGlueX87));
    hot_.load(rsp, kProgramStack);
    hot_.load(rax, spill(0));
    most_insns_ = count + 1;
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
    extend(site_->block, e, ip);
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

  // POPF may set EFLAGS.TF, which is the program's own step to take: trap_flag.h. The status flags
  // are free.
  void look_at_flags(std::uint64_t ip) {
    hot_.bytes({0x66, 0xf7, 0x04, 0x24, 0, 1});  // TEST word [RSP], TF
    std::uint8_t* field = hot_.jump_if(0x5, nullptr);
    Emitter::point(field, cold_.at());
    shift_in(cold_, pending_, false);
    request(cold_, arena_, make_exit(Exit::native, ip), kGlueExit);
  }

  void note_piece(std::uint64_t ip, std::uint64_t behind) {
    if (piece_count_ == 0 || pieces_[piece_count_ - 1].end != ip) {
      pieces_[piece_count_++] = {ip, ip};
    }
    pieces_[piece_count_ - 1].end = behind;
  }

  // --- ways out ---

  void leave_to(std::uint64_t target) {
    append_outcomes(hot_, pending_, false, target);
    jump_to(target);
    stubs();
  }

  // A displacement behind so many bytes lies in one cache line, so that whoever executes it while
  // it is patched sees the old or the new one.
  void align_displacement(unsigned behind) {
    while ((reinterpret_cast<std::uint64_t>(hot_.at()) + behind) % 64 > 60) hot_.byte(0x90);
  }

  void jump_to(std::uint64_t target) {
    align_displacement(1);
    std::uint8_t* field = hot_.jump(nullptr);
    const std::uint8_t* head = find_fragment(target);
    if (head != nullptr && Emitter::reaches(field, head)) return Emitter::point(field, head);
    put_off(field, make_exit(Exit::direct, target));
  }

  // The branch leads to a stub first.
  void put_off(std::uint8_t* displacement, Exit* exit) {
    set_link_place(*exit, arena_, displacement);
    late_[late_count_++] = {displacement, exit};
  }

  void ask(Exit::Kind kind, std::uint64_t target, std::uint8_t length = 0) {
    Exit* exit = make_exit(kind, target);
    exit->length = length;
    shift_in(hot_, pending_, false);
    request(hot_, arena_, exit, kGlueExit);
    stubs();
  }

  void conditional(const Encoding& e, std::uint64_t ip) {
    const std::uint64_t target = target_of(e, ip);
    if (e.map == 0 && e.opcode >= 0xe0) {  // LOOP, JRCXZ: 8 bits of displacement only
      if (e.address32) hot_.byte(0x67);
      std::uint8_t* around = hot_.at();
      hot_.bytes({e.opcode, 2, 0xeb, 0});
      align_displacement(1);
      put_off(hot_.jump(nullptr), make_branch(target));
      around[3] = static_cast<std::uint8_t>(hot_.at() - (around + 4));
    } else if (target <= ip) {  // most likely a loop: let it stay here
      std::uint8_t* over = hot_.jump_if((e.opcode & 15u) ^ 1, nullptr);
      append_outcomes(hot_, pending_, true, target);
      jump_to(target);
      Emitter::point(over, hot_.at());
    } else {
      align_displacement(2);
      put_off(hot_.jump_if(e.opcode & 15u, nullptr), make_branch(target));
    }
    if (!by_blocks) ++pending_;
  }

  Exit* make_branch(std::uint64_t target) const {
    Exit* exit = make_exit(by_blocks ? Exit::direct : Exit::branch, target);
    exit->zeros = static_cast<std::uint8_t>(pending_);
    return exit;
  }

  // What was put off while the fragment was written.
  void stubs() {
    code_end_ = hot_.at();
    for (unsigned i = 0; i < late_count_; ++i) {
      Emitter::point(late_[i].field, cold_.at());
      request(cold_, arena_, late_[i].exit, kGlueExit);
    }
    late_count_ = 0;
    room_.finish();
  }

  // --- calls and returns ---

  void call(const Encoding& e, std::uint64_t ip) {
    const std::uint64_t behind = ip + e.length;
    const std::uint64_t target = target_of(e, ip);
    if (target != behind) {  // a call to the next instruction only asks where it is
      hot_.store(spill(0), rax);
      CallCode(hot_, cold_).remember(rax, behind, flags_dead(target));
      hot_.load(rax, spill(0));
    }
    CallCode(hot_, cold_).push_return(behind);
    append_outcomes(hot_, pending_, false, target);
    jump_to(target);
    stubs();
  }

  void ret(const Encoding& e, std::uint64_t ip) {
    shift_in(hot_, pending_, false);
    spill_two(hot_);
    CallCode calls(hot_, cold_);
    calls.load_top(rax);
    calls.load_call(rcx, rax);
    calls.set_call(rax, no_call);
    calls.move_index(rax, -4);
    calls.store_top(rax);
    hot_.byte(0x58);  // POP RAX
    TargetCode(hot_, arena_).note_branch(ip);
    if (e.imm_size == 2) {
      hot_.bytes({0x48, 0x8d, 0xa4, 0x24});  // LEA RSP, [RSP + imm]
      hot_.bytes({code(ip)[e.imm_at], code(ip)[e.imm_at + 1], 0, 0});
    }
    static_assert(offsetof(CallSite, landing) == 0);
    hot_.bytes({0xff, 0x21});  // JMP [RCX]
    stubs();
  }

  // --- indirect jumps and calls ---

  void indirect(const Encoding& e, std::uint64_t ip) {
    shift_in(hot_, pending_, false);
    spill_two(hot_);
    InsnCopier(hot_).load_target(e, ip);
    if (e.cls == InsnClass::icall) {
      CallCode calls(hot_, cold_);
      calls.remember(rcx, ip + e.length, false);
      calls.push_return(ip + e.length);
    }
    hot_.move(rcx, 0);
    hot_.bytes({0xf2, 0x48, 0x0f, 0x38, 0xf1, 0xc8});  // CRC32 RCX, RAX
    hot_.bytes({0x0f, 0xb7, 0xc9});                    // MOVZX ECX, CX
    TargetCode(hot_, arena_).note_branch(ip);
    hot_.bytes({0xff, 0x24, 0xcd});  // JMP [first_landings + RCX * 8]
    hot_.word(low(first_landings));
    stubs();
  }

  struct Late {
    std::uint8_t* field;
    const Exit* exit;
  };

  Arena& arena_;
  Emitter hot_, cold_;
  RoomCode room_{hot_, cold_, arena_};
  InsnMapWriter map_;
  BlockSite* site_ = nullptr;
  std::uint8_t* told_ = nullptr;  // how many reports a thread must have seen
  bool checked_ = false;
  unsigned most_insns_ = kMaxInsns;
  std::uint64_t end_ = 0;             // of the code that was read
  std::uint8_t* code_end_ = nullptr;  // of its copy
  unsigned pending_ = 0;              // outcomes since the fragment's head, all "not taken"
  Late late_[kMaxOutcomes + 8];
  unsigned late_count_ = 0;
  struct Piece {
    std::uint64_t start, end;
  };
  Piece pieces_[kMaxInsns];  // of the program's code
  unsigned piece_count_ = 0;
};

}  // namespace

namespace {

// `before`: writes what lies before the head, and returns where that is entered.
template <class Before>
Fragment translate(std::uint64_t ip, Before before) {
  Fragment made;
  std::uint64_t replaced = 0;  // bytes
  {
    Translator translator(ip);
    begin_fragment();
    readable_bytes(ip);
    made.landing = before(translator);
    translator.make_patchable(ip);
    made.head = translator.at();
    translator.body(ip);
    end_fragment(ip, translator.checked_bytes(ip), made.head);
    if (translator.report()) replaced = translator.checked_bytes(ip);
  }
  if (replaced != 0) drop_other_fragments(ip, replaced, made.head);  // needs the room that is left
  return made;
}

}  // namespace

Fragment translate(std::uint64_t ip, Entry entry) {
  return translate(ip, [&](Translator& translator) { return translator.landing(ip, entry); });
}

Fragment translate_behind(const Exit& branch) {
  return translate(branch.target,
                   [&](Translator& translator) { return translator.outcomes_of(branch); });
}

std::uint8_t* make_way(const Exit& branch, std::uint8_t* head) {
  Translator translator(branch.target);
  std::uint8_t* way = translator.outcomes_of(branch);
  translator.continue_at(head);
  return way;
}

std::uint8_t* make_landing(std::uint64_t ip, Entry entry, std::uint8_t* head) {
  Translator translator(ip);
  std::uint8_t* landing = translator.landing(ip, entry);
  translator.continue_at(head);
  return landing;
}

}  // namespace hodo::engine
