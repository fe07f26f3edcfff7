// What an ELF file's own text allows: the facts that executed branches are held against.
//
// An analysis is made once per file and never changes. Addresses are the file's own, before
// relocation. Everything in a file is input of whoever made it: what cannot be read of a damaged
// one is missing here, and complete() says so.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/image/unwind_tables.h"
#include "hodo/isa/insn.h"
#include "hodo/isa/moves.h"
#include "hodo/symbol/symbol_table.h"

namespace hodo::text {

// What is known about an address in executable memory; several may hold.
enum Mark : std::uint16_t {
  kInsn = 1 << 0,         // an instruction begins here: reached from a function's start by going
                          // straight on, or from another instruction by its direct target
  kStart = 1 << 1,        // a function begins: symbol, unwind table, entry point, DT_INIT, PLT stub
  kTaken = 1 << 2,        // the address is written down: in data, in a relocation, or in an
                          // instruction that loads it
  kLeader = 1 << 3,       // a direct branch leads here, or it follows a conditional one
  kReturnSite = 1 << 4,   // behind a call
  kTableTarget = 1 << 5,  // in a jump table that its function uses
  kLanding = 1 << 6,      // an exception lands here
  kEndbr = 1 << 7,        // ENDBR64, in 32-bit files ENDBR32
  // Of the branch that begins here:
  kSwitchesStack = 1 << 8,  // an indirect jump or return behind a load of RSP, in straight line or
                            // by direct jumps ahead
  kPushedTarget = 1 << 9,   // a return whose target the instruction before pushed
  kStoredTarget = 1 << 10,  // a return whose target the instruction before put in place of the last
                            // return address: a retpoline
  kPlt = 1 << 11,           // in a PLT stub
  // Of an instruction: what is certain, where kInsn may be read from data that lies among the code.
  kFlow = 1 << 12,     // it is gone on to from a function's start, a direct branch or a call
  kAwaited = 1 << 13,  // a direct branch of kFlow leads here
  kResumes = 1 << 14,  // a return behind POPF: of code that interrupts at any place
  kNamed = 1 << 15,    // kTaken, by an instruction: what it does with the address, nobody knows
};
using Marks = std::uint16_t;

class Ancestry;
class ModuleCache;

using Function = image::FunctionRange;
using image::LandingPad;

// A slot through which code calls other modules, filled by the dynamic linker.
struct Slot {
  std::uint64_t address = 0;
  std::string_view name;  // of the symbol; lives as long as the module
  // What it holds in the file; of one that is filled when it is first used, the place of the stub
  // that asks for that.
  std::uint64_t initial = 0;
};

// What a word of the file's data holds when the file has been loaded.
struct Held {
  std::string_view name;  // the function of this name, wherever it is; lives as long as the file
  std::uint64_t address = 0;  // where `name` is empty: this address of the file, or the number
};

// A pointer to a sensitive function, by call.sensitive's list, in the file's data.
struct KeptPointer {
  std::string_view name;  // of the function; lives as long as the module
  bool constant = false;  // cannot be written to once the file is loaded
};

// What the dynamic linker writes into the text itself.
struct Relocated {
  std::uint64_t place = 0;
  std::size_t size = 0;
  std::optional<std::uint64_t> address;  // of the file, moved with it; nullopt: anything
};

// A place of the text that the program itself changes when it runs, as the file lists it: a sled of
// XRay (clang's -fxray-instrument).
struct PatchSite {
  std::uint64_t place = 0;
  std::size_t size = 0;
};

// A word of a vtable that holds a function's address.
struct VirtualSlot {
  std::uint64_t function = 0;
  std::uint64_t place = 0;
  std::uint64_t offset = 0;  // from where objects point to
};

// Arguments are numbered as functions take them: RDI, RSI, RDX, RCX, R8, R9. Bit n: argument n.
inline constexpr unsigned kRegisterArguments = 6;

// What a function reads on all its ways before it calls anything, returns, loops or puts something
// else there.
struct ArgumentsRead {
  std::uint8_t pointers = 0;  // memory where it points
  std::uint8_t values = 0;    // these too, and what is computed with or compared
};
// What may be in the registers at a call.
struct ArgumentsSet {
  std::uint8_t set = 0x3f;   // put there in its function, or given to that
  bool returned = true;      // RDX may be a part of what a call returned
  bool unprototyped = true;  // RAX holds a number, as for a function that takes any arguments
};

class Module {
 public:
  // Larger text is refused: it is ten times what the largest browsers have.
  static constexpr std::uint64_t kLargestText = std::uint64_t{1} << 30;
  static constexpr std::uint64_t kLargestFile = std::uint64_t{4} << 30;

  // Errors: as image::RegularFile::open and read_elf; unsupported for what is of neither x86-64 nor
  // i386, a file larger than kLargestFile, or text larger than kLargestText; messages name the
  // file.
  // `cache`: where analyses are kept, or null.
  static Result<std::shared_ptr<const Module>> analyze(const std::string& path,
                                                       const ModuleCache* cache = nullptr);
  // Of an image that is no file. Errors: the same.
  static Result<std::shared_ptr<const Module>> analyze(std::vector<std::uint8_t> bytes);

  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module();

  const image::Elf& elf() const;
  const symbol::SymbolTable& symbols() const;
  // False: a part of the unwind tables or jump tables could not be read, so less is known.
  bool complete() const;
  isa::Mode mode() const;  // of its code
  // Linked for CET (GNU_PROPERTY_X86_FEATURE_1_IBT): indirect branches land on kEndbr.
  bool has_ibt() const;
  // Asks for a stack that can be executed (PT_GNU_STACK), as compilers do for nested functions.
  bool executes_stack() const;
  // The dynamic linker writes to its text (DT_TEXTREL).
  bool relocates_text() const;
  // What it writes there in [begin, end), by place; empty where !relocates_text().
  std::span<const Relocated> relocated(std::uint64_t begin, std::uint64_t end) const;
  // By place; empty: the program does not change its text by itself, as far as its file says.
  std::span<const PatchSite> patch_sites() const;
  // Whether that is what XRay makes of a sled at `place`, all of it: a number for the function and
  // a direct call or jump to a function of the same file, or a NOP.
  bool is_patch(std::uint64_t place, std::span<const std::uint8_t> ran) const;
  const std::vector<std::string>& needed() const;  // DT_NEEDED and DT_FILTER, in order
  // What the file names besides, and is loaded if it is there: DT_AUXILIARY, DT_AUDIT, DT_DEPAUDIT.
  const std::vector<std::string>& wished() const;
  const std::string& soname() const;  // DT_SONAME; may be empty

  // Whether the address lies in an executable segment's file part.
  bool is_text(std::uint64_t vaddr) const;
  // 0 outside of the text.
  Marks marks(std::uint64_t vaddr) const;
  bool has(std::uint64_t vaddr, Marks any) const { return (marks(vaddr) & any) != 0; }
  // The file's bytes from `vaddr` to the end of its segment; empty outside of the file.
  std::span<const std::uint8_t> bytes(std::uint64_t vaddr) const;
  std::optional<isa::Insn> insn(std::uint64_t vaddr) const;
  // Whether the file has this text anywhere.
  bool contains(std::string_view text) const;
  // All of it, as it lies on disk.
  std::span<const std::uint8_t> file() const;

  // The function that contains the address: by the unwind tables, or else by symbols; null where
  // neither covers it.
  const Function* function(std::uint64_t vaddr) const;
  // Both lie in one function, or in two parts of one that the compiler split (hot and cold), which
  // is known by a direct jump into the middle of the other part.
  bool same_function(std::uint64_t a, std::uint64_t b) const;

  // Whether an exception that passes through a call with this return address lands at `pad`.
  bool lands(std::uint64_t return_address, std::uint64_t pad) const;

  // No pointer leads to the function that begins there: nothing in the file holds its address, and
  // other files cannot ask for it. False where that is not certain.
  bool is_untaken(std::uint64_t vaddr) const;
  // That is certain of some function, so that the file's text and tables were fit to tell.
  bool knows_untaken() const;
  // The same of a function that other files can ask for by its name.
  bool is_exported_untaken(std::uint64_t vaddr) const;
  // Whether the dynamic linker calls the function itself, as the file's tables for it say: to
  // initialise or finish the file, or to choose what a function of it stands for.
  bool is_linkers(std::uint64_t vaddr) const;
  // Whether other files can ask for what is there by a name. Reads all dynamic symbols each time;
  // true where they cannot be read.
  bool is_exported(std::uint64_t vaddr) const;
  // The names by which they can where the file has no symbols that its sections tell of; else
  // empty, as symbols() has them. Reads all dynamic symbols each time. They live as long as the
  // module.
  std::vector<std::string_view> exported_names(std::uint64_t vaddr) const;
  // Whether the dynamic linker gives the file the address of a function of this name, for more than
  // to call it through a slot that is only called through.
  bool asks_for(std::string_view name) const;
  // Where vtables of C++ classes hold the address of the function that begins there, if certainly
  // nothing else does; else empty.
  std::span<const VirtualSlot> virtual_slots(std::uint64_t vaddr) const;
  // The classes of the file's vtables. Reads all relocations each time. The names live as long as
  // the module.
  Ancestry ancestry() const;

  // The name of the symbol that starts at the address, or of the stub there; empty: none.
  std::string_view name_at(std::uint64_t vaddr) const;
  // All symbols that start there.
  std::span<const symbol::Symbol> names_at(std::uint64_t vaddr) const;
  // Where the target of an indirect branch comes from: of CALL and JMP, of a direct branch to a
  // retpoline that leads where a register says, and of kPushedTarget and kStoredTarget. nullopt: it
  // is nothing of the kind, or of 32-bit code.
  std::optional<isa::Pointer> pointer_of(std::uint64_t insn_vaddr) const;
  // The slot that lies there; null: none.
  const Slot* slot_at(std::uint64_t vaddr) const;
  // The slot that an instruction jumps or calls through, `jmp [rip + slot]`, on i386 `jmp [slot]`
  // or `jmp [register of the GOT + distance]`; null: none.
  const Slot* slot_of(std::uint64_t insn_vaddr) const;
  // Whether the instruction jumps or calls through a slot that holds what a function of the file
  // has chosen (IRELATIVE).
  bool is_through_chosen(std::uint64_t insn_vaddr) const;
  // Whether the word there is the first of a descriptor of a thread's variable (TLSDESC), in which
  // the dynamic linker puts a function of its own.
  bool is_descriptor(std::uint64_t vaddr) const;
  // Of an instruction that jumps or calls through a register: the slots that its function loads
  // into this register, as compilers keep a slot's value for several calls.
  std::vector<const Slot*> slots_held(std::uint64_t insn_vaddr) const;
  // Of an instruction that jumps or calls through a register or a place in the frame: what its
  // function may have put into this register on some way to the instruction, by moves between
  // registers, or alone puts into the place on every way: the names of slots whose value it is, and
  // addresses in the text. Looks at all of the function.
  struct MayCall {
    std::vector<std::string_view> names;
    std::vector<std::uint64_t> addresses;
  };
  MayCall may_call(std::uint64_t insn_vaddr) const;
  // Of the function that begins there, in 64-bit code.
  ArgumentsRead arguments_read(std::uint64_t vaddr) const;
  // Of a call or jump in 64-bit code. Looks at all of its function; where that has too much
  // code, all may be set.
  ArgumentsSet arguments_set(std::uint64_t insn_vaddr) const;
  // By which names in read-only data the file itself asks dlsym or dlvsym for what a call or jump
  // through a pointer leads to: where what that returned is still in the register, or the pointer
  // is read from the fixed place in which the file stores it. In 64-bit code; only names of
  // sensitive functions (names.h). Looks at all of the text: for what is to be a finding.
  std::vector<std::string_view> asked_by_name(std::uint64_t insn_vaddr) const;
  // Whether the function of an instruction has as a number of its own, MOV REG, IMM64, how far the
  // address is from got(): so code of the large model that may lie anywhere finds stubs (psABI).
  bool has_distance(std::uint64_t insn_vaddr, std::uint64_t address) const;
  // What the file says that the word there holds; nullopt where the file has none. Reads all
  // relocations: for findings.
  std::optional<Held> held_at(std::uint64_t vaddr) const;
  // name_at() with "@plt" and the like taken off.
  std::string_view callee_name(std::uint64_t vaddr) const;
  // The call whose return address this is; nullopt: the text has none there.
  std::optional<std::uint64_t> call_before(std::uint64_t return_address) const;
  // What the call whose return address this is calls, by callee_name(); empty where the text does
  // not say.
  std::string_view callee_before(std::uint64_t return_address) const;

  std::span<const Function> functions() const;   // by address, none overlap
  std::span<const LandingPad> landings() const;  // by `begin`
  std::span<const Slot> slots() const;           // by address
  std::span<const KeptPointer> kept_pointers() const;
  // DT_PLTGOT: where distances to slots count from in code of i386 and of the large model; nullopt:
  // not said.
  std::optional<std::uint64_t> got() const;

 private:
  struct Facts;
  explicit Module(std::unique_ptr<const Facts> facts);
  bool leaves(std::uint64_t call) const;
  const Slot* slot_of_stub(std::uint64_t vaddr) const;
  static Result<std::shared_ptr<const Module>> make(std::vector<std::uint8_t> bytes,
                                                    std::shared_ptr<const symbol::SymbolTable>,
                                                    const ModuleCache* cache);
  std::unique_ptr<const Facts> facts_;
};

}  // namespace hodo::text
