// What an analysis finds in small files made by hand, and in damaged ones.
#include "hodo/text/module.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "elf_builder.h"

namespace hodo::text {
namespace {

std::shared_ptr<const Module> analyze(const ElfBuilder& elf) {
  auto module = Module::analyze(elf.build());
  if (!module) {
    ADD_FAILURE() << module.error().message;
    return nullptr;
  }
  return *module;
}

std::string marks_text(Marks marks) {
  static constexpr std::pair<Mark, const char*> kNames[] = {
      {kInsn, "insn"},           {kStart, "start"},         {kTaken, "taken"},
      {kLeader, "leader"},       {kReturnSite, "return"},   {kTableTarget, "table"},
      {kLanding, "landing"},     {kEndbr, "endbr"},         {kSwitchesStack, "switch"},
      {kPushedTarget, "pushed"}, {kStoredTarget, "stored"},
  };
  std::string out;
  for (const auto& [mark, name] : kNames) {
    if ((marks & mark) != 0) out += (out.empty() ? "" : " ") + std::string(name);
  }
  return out;
}

TEST(Module, MarksWhatTheTextSays) {
  ElfBuilder elf;
  elf.entry = kText;
  elf.text = {
      0xf3, 0x0f, 0x1e, 0xfa,                    // 1000 endbr64
      0xe8, 0x0b, 0x00, 0x00, 0x00,              // 1004 call 1014
      0x74, 0x02,                                // 1009 jz 100d
      0xff, 0xd0,                                // 100b call rax
      0x48, 0x8d, 0x05, 0x02, 0x00, 0x00, 0x00,  // 100d lea rax, [1016]
      0x50,                                      // 1014 push rax
      0xc3,                                      // 1015 ret
      0x48, 0x8b, 0x67, 0x08,                    // 1016 mov rsp, [rdi+8]
      0xff, 0xe2,                                // 101a jmp rdx
      0xc3,                                      // 101c ret
  };
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_EQ(marks_text(module->marks(0x1000)), "insn start endbr");
  EXPECT_EQ(marks_text(module->marks(0x1001)), "");
  EXPECT_EQ(marks_text(module->marks(0x1009)), "insn return");
  EXPECT_EQ(marks_text(module->marks(0x100b)), "insn leader");
  EXPECT_EQ(marks_text(module->marks(0x100d)), "insn leader return");
  EXPECT_EQ(marks_text(module->marks(0x1014)), "insn leader");
  EXPECT_EQ(marks_text(module->marks(0x1015)), "insn pushed");
  EXPECT_EQ(marks_text(module->marks(0x1016)), "insn taken");
  EXPECT_EQ(marks_text(module->marks(0x101a)), "insn switch");
  EXPECT_EQ(marks_text(module->marks(0x101c)), "insn");
  EXPECT_FALSE(module->is_text(0x101d));
  EXPECT_EQ(module->marks(0x101d), 0);
}

TEST(Module, AFrameFromAnotherStackIsNoneOfThisOne) {
  ElfBuilder elf;
  elf.entry = kText;
  elf.text = {
      0x48, 0x89, 0xc4,  // 1000 mov rsp, rax
      0x5d,              // 1003 pop rbp
      0x48, 0x89, 0xec,  // 1004 mov rsp, rbp
      0xc3,              // 1007 ret
      0x48, 0x89, 0xc4,  // 1008 mov rsp, rax
      0x48, 0x89, 0xec,  // 100b mov rsp, rbp
      0x5d,              // 100e pop rbp
      0xc3,              // 100f ret
  };
  elf.functions = {{.begin = 0x1000, .end = 0x1008}, {.begin = 0x1008, .end = 0x1010}};
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_EQ(marks_text(module->marks(0x1007)), "insn switch");
  EXPECT_EQ(marks_text(module->marks(0x100f)), "insn");
}

// lock cmpxchg is entered behind its prefix where there is one processor only.
TEST(Module, FollowsATargetInsideOfAnInstruction) {
  ElfBuilder elf;
  elf.text = {
      0x74, 0x01,              // 1000 jz 1003
      0xf0, 0x0f, 0xb1, 0x0f,  // 1002 lock cmpxchg [rdi], ecx; 1003 cmpxchg [rdi], ecx
      0xc3,                    // 1006 ret
  };
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_EQ(marks_text(module->marks(0x1002)), "insn leader");
  EXPECT_EQ(marks_text(module->marks(0x1003)), "insn leader");
  EXPECT_EQ(marks_text(module->marks(0x1004)), "");
  EXPECT_EQ(marks_text(module->marks(0x1006)), "insn");
}

TEST(Module, ReadsAJumpTableUpToTheFirstEntryThatLeavesTheFunction) {
  ElfBuilder elf;
  elf.text = {
      0x48, 0x8d, 0x15, 0xf9, 0x0f, 0x00, 0x00,  // 1000 lea rdx, [2000]
      0xff, 0xe0,                                // 1007 jmp rax
      0x90,                                      // 1009 nop
      0x90,                                      // 100a nop
      0xc3,                                      // 100b ret
  };
  for (const std::int32_t target : {0x1009, 0x100b, 0x1030, 0x100a}) {
    append(elf.data, target - 0x2000);
  }
  elf.functions = {{0x1000, 0x100c, 0, 1, 0}};
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->complete());
  EXPECT_EQ(marks_text(module->marks(0x1009)), "insn table");
  EXPECT_EQ(marks_text(module->marks(0x100b)), "insn table");
  EXPECT_EQ(marks_text(module->marks(0x100a)), "insn");
}

// GHC's position-independent code. Each piece has data in front of it, which is read as
// instructions, and may count as a function of its own.
TEST(Module, ATableMayHaveZerosBehindEachDistance) {
  ElfBuilder elf;
  elf.text = {
      0x48, 0x8d, 0x3d, 0xf9, 0x0f, 0x00, 0x00,  // 1000 lea rdi, [2000]
      0x48, 0x63, 0x1c, 0xdf,                    // 1007 movsxd rbx, [rdi+rbx*8]
      0x48, 0x01, 0xdf,                          // 100b add rdi, rbx
      0xff, 0xe7,                                // 100e jmp rdi
      0xb8, 0x00, 0x00, 0x00,                    // 1010 data, read as mov eax, c3900000
      0x90, 0xc3,                                // 1014 nop; ret
      0xb8, 0x00, 0x00, 0x00, 0xc3,              // 1016 another function: mov eax, c3000000
      0x00, 0xc3,                                // 101b add bl, al
      0x90, 0xc3,                                // 101d
      0x48, 0x8d, 0x05, 0x02, 0x10, 0x00, 0x00,  // 101f lea rax, [2028]
  };
  for (const std::int32_t target : {0x2000, 0x1014, 0x101a, 0x101d, 0x1015, 0x101b}) {
    append(elf.data, target - 0x2000);
    append(elf.data, std::int32_t{0});
  }
  elf.functions = {{0x1000, 0x1016, 0, 1, 0}, {0x1016, 0x1026, 0, 1, 0}};
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_EQ(marks_text(module->marks(0x1014)), "insn table");
  EXPECT_EQ(marks_text(module->marks(0x1015)), "insn table");
  EXPECT_EQ(marks_text(module->marks(0x101d)), "insn table");
  EXPECT_EQ(marks_text(module->marks(0x101a)), "");      // inside an instruction that is certain
  EXPECT_EQ(marks_text(module->marks(0x101b)), "insn");  // of what begins at 2028
  EXPECT_TRUE(module->same_function(0x1000, 0x101d));
}

TEST(Module, ATableMayLeadIntoAPartOfItsFunctionThatWasSplitOff) {
  ElfBuilder elf;
  elf.text = {
      0x48, 0x8d, 0x15, 0xf9, 0x0f, 0x00, 0x00,  // 1000 lea rdx, [2000]
      0xff, 0xe0,                                // 1007 jmp rax
      0x90,                                      // 1009 nop
      0xc3,                                      // 100a ret
      0x90, 0x90, 0xc3,                          // 100b nop; nop; ret: the other part
  };
  for (const std::int32_t target : {0x1009, 0x100c, 0x100a, 0x100d}) {
    append(elf.data, target - 0x2000);
  }
  elf.functions = {{0x1000, 0x100b}, {0x100b, 0x100e}};
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_EQ(marks_text(module->marks(0x100c)), "insn table");
  EXPECT_EQ(marks_text(module->marks(0x100a)), "insn table");
  EXPECT_EQ(marks_text(module->marks(0x100d)), "insn") << "no entry of the function follows";
  EXPECT_TRUE(module->same_function(0x1007, 0x100c));
}

TEST(Module, KnowsWhereAnExceptionLands) {
  ElfBuilder elf;
  elf.text = Bytes(0x30, 0x90);
  elf.functions = {{0x1000, 0x1030, 0x05, 0x08, 0x20}};
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  ASSERT_EQ(module->landings().size(), 1u);
  EXPECT_EQ(marks_text(module->marks(0x1020)), "insn landing");
  // A call at the last byte of the site [1005, 100d) returns to 100d.
  EXPECT_FALSE(module->lands(0x1005, 0x1020));
  EXPECT_TRUE(module->lands(0x1006, 0x1020));
  EXPECT_TRUE(module->lands(0x100d, 0x1020));
  EXPECT_FALSE(module->lands(0x100e, 0x1020));
  EXPECT_FALSE(module->lands(0x100d, 0x1021));
}

TEST(Module, ConstantsCountOnlyWhereTextDoesNotMove) {
  ElfBuilder elf;
  elf.text = {0xbf, 0x05, 0x10, 0x00, 0x00, 0xc3, 0x90};  // mov edi, 0x1005; ret; nop
  append(elf.data, std::uint64_t{0x1006});
  elf.type = ET_EXEC;
  auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_EQ(marks_text(module->marks(0x1005)), "insn taken");
  EXPECT_EQ(marks_text(module->marks(0x1006)), "insn taken");
  elf.type = ET_DYN;
  module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_EQ(marks_text(module->marks(0x1005)), "insn");
  EXPECT_EQ(marks_text(module->marks(0x1006)), "insn");
}

TEST(Module, AJumpIntoTheMiddleMakesTwoPartsOneFunction) {
  ElfBuilder elf;
  elf.text = {
      0xeb, 0x02,  // 1000 jmp 1004
      0x90, 0xc3,  // 1002 nop; ret
      0x90, 0xc3,  // 1004 nop; ret
      0xeb, 0xfb,  // 1006 jmp 1003
      0xc3,        // 1008 ret
  };
  elf.functions = {{0x1000, 0x1004}, {0x1004, 0x1006}, {0x1006, 0x1009}};
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->same_function(0x1000, 0x1003));
  EXPECT_FALSE(module->same_function(0x1000, 0x1004)) << "a jump to a start is a tail call";
  EXPECT_TRUE(module->same_function(0x1000, 0x1008));
  EXPECT_TRUE(module->same_function(0x1007, 0x1001));
  EXPECT_FALSE(module->same_function(0x1004, 0x1008));
}

// A dynamic section of i386 behind what data there is, with relocations before it.
void add_dynamic(ElfBuilder& elf, const std::vector<Elf32_Rel>& relocations, std::uint64_t got,
                 std::uint64_t relr = 0, bool of_text = false) {
  const auto here = [&] { return static_cast<Elf32_Word>(kData + elf.data.size()); };
  const Elf32_Word at = here();
  for (const Elf32_Rel& r : relocations) append(elf.data, r);
  const Elf32_Word size = here() - at;
  const Elf32_Word symbols = here();
  append(elf.data, Elf32_Sym{});
  append(elf.data, Elf32_Sym{.st_name = 1,
                             .st_value = 0,
                             .st_size = 0,
                             .st_info = STT_FUNC,
                             .st_other = 0,
                             .st_shndx = SHN_UNDEF});
  const Elf32_Word names = here();
  append(elf.data, Bytes{0, 'p', 'u', 't', 's', 0, 0, 0});
  elf.dynamic = here();
  const auto entry = [&](Elf32_Sword tag, std::uint64_t value) {
    append(elf.data, tag);
    append(elf.data, static_cast<Elf32_Word>(value));
  };
  entry(DT_REL, at);
  entry(DT_RELSZ, size);
  entry(DT_SYMTAB, symbols);
  entry(DT_STRTAB, names);
  entry(DT_PLTGOT, got);
  if (relr != 0) {
    entry(DT_RELR, relr);
    entry(DT_RELRSZ, 8);
  }
  if (of_text) entry(DT_TEXTREL, 0);
  entry(DT_NULL, 0);
}

TEST(NarrowModule, MarksWhatTheTextSays) {
  ElfBuilder elf;
  elf.narrow = true;
  elf.entry = kText;
  elf.text = {
      0xf3, 0x0f, 0x1e, 0xfb,        // 1000 endbr32
      0x40,                          // 1004 inc eax
      0xe8, 0x08, 0x00, 0x00, 0x00,  // 1005 call 1012
      0x89, 0x04, 0x24,              // 100a mov [esp], eax
      0x8b, 0x44, 0x24, 0x04,        // 100d mov eax, [esp+4]
      0xc3,                          // 1011 ret: not right behind
      0x89, 0x04, 0x24,              // 1012 mov [esp], eax
      0x8b, 0x44, 0x24, 0x04,        // 1015 mov eax, [esp+4]
      0xc2, 0x0c, 0x00,              // 1019 ret 12
      0x89, 0x04, 0x24,              // 101c mov [esp], eax
      0xc3,                          // 101f ret
      0x8b, 0x61, 0x08,              // 1020 mov esp, [ecx+8]
      0xff, 0xe2,                    // 1023 jmp edx
      0xf3, 0x0f, 0x1e, 0xfa,        // 1025 endbr64: nothing here
  };
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_EQ(module->mode(), isa::Mode::bits32);
  EXPECT_EQ(marks_text(module->marks(0x1000)), "insn start endbr");
  EXPECT_EQ(marks_text(module->marks(0x1005)), "insn");
  EXPECT_EQ(marks_text(module->marks(0x1011)), "insn");
  EXPECT_EQ(marks_text(module->marks(0x1019)), "insn pushed");
  EXPECT_EQ(marks_text(module->marks(0x101f)), "insn stored");
  EXPECT_EQ(marks_text(module->marks(0x1023)), "insn switch");
  EXPECT_EQ(marks_text(module->marks(0x1025)), "insn");
}

// mov ebx, [esp]; ret at 1000; the rest begins at 1004.
const Bytes kThunk = {0x8b, 0x1c, 0x24, 0xc3};

TEST(NarrowModule, PositionIndependentCodeCountsFromTheGot) {
  ElfBuilder elf;
  elf.narrow = true;
  elf.text = kThunk;
  append(elf.text,
         Bytes{
             0xe8, 0xf7, 0xff, 0xff, 0xff,              // 1004 call 1000
             0x81, 0xc3, 0xf7, 0x17, 0x00, 0x00,        // 1009 add ebx, 2800-1009
             0x8d, 0x83, 0x21, 0xe8, 0xff, 0xff,        // 100f lea eax, [ebx-17df]: 1021
             0x8b, 0x84, 0x8b, 0x00, 0xf8, 0xff, 0xff,  // 1015 mov eax, [ebx+ecx*4-800]: 2000
             0x01, 0xd8,                                // 101c add eax, ebx
             0xff, 0xe0,                                // 101e jmp eax
             0x90, 0x90, 0xc3,                          // 1020
         });
  for (const std::int32_t target : {0x1020, 0x1022, 0x1050}) append(elf.data, target - 0x2800);
  elf.functions = {{0x1000, 0x1004}, {0x1004, 0x1023, 0, 1, 0}};
  // Without a dynamic section, the code itself says where the GOT is; else that does.
  for (const bool is_dynamic : {false, true}) {
    if (is_dynamic) add_dynamic(elf, {}, 0x2800);
    const auto module = analyze(elf);
    ASSERT_TRUE(module);
    EXPECT_EQ(marks_text(module->marks(0x1021)), "insn taken");
    EXPECT_EQ(marks_text(module->marks(0x1020)), "insn table");
    EXPECT_EQ(marks_text(module->marks(0x1022)), "insn table");
  }
  elf.text[0x0a] = 0xc7;  // the call asks no thunk any more: mov [esp], ebx
  elf.text[0] = 0x89;
  EXPECT_EQ(marks_text(analyze(elf)->marks(0x1021)), "insn taken") << "by DT_PLTGOT";
  elf.dynamic = 0;
  EXPECT_EQ(marks_text(analyze(elf)->marks(0x1021)), "insn");
}

// The large model: MOV REG, IMM64 has the distance from the GOT, entries of tables have 64 bits.
TEST(Module, TheLargeModelCountsFromTheGot) {
  ElfBuilder elf;
  elf.text = {
      0x48, 0x8d, 0x05, 0xf9, 0x17, 0x00, 0x00,                    // 1000 lea rax, [2800]
      0x48, 0xb9, 0x24, 0xe8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,  // 1007 movabs rcx, 1024-2800
      0x48, 0x8d, 0x15, 0xe8, 0x0f, 0x00, 0x00,                    // 1011 lea rdx, [2000]
      0x48, 0x03, 0x14, 0xfa,                                      // 1018 add rdx, [rdx+rdi*8]
      0xff, 0xe2,                                                  // 101c jmp rdx
      0x90, 0x90, 0x90, 0x90, 0x90, 0xc3,                          // 101e
      0xc3,                                                        // 1024 a function
  };
  for (const std::int64_t target : {0x101f, 0x1021, 0x1050}) append(elf.data, target - 0x2000);
  elf.functions = {{0x1000, 0x1024}, {0x1024, 0x1025, 0, 1, 0}};
  elf.dynamic = kData + elf.data.size();
  append(elf.data, Elf64_Dyn{.d_tag = DT_PLTGOT, .d_un = {.d_ptr = 0x2800}});
  append(elf.data, Elf64_Dyn{});
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_EQ(marks_text(module->marks(0x1024)), "insn start taken");
  EXPECT_EQ(marks_text(module->marks(0x101f)), "insn table");
  EXPECT_EQ(marks_text(module->marks(0x1020)), "insn");
  EXPECT_EQ(marks_text(module->marks(0x1021)), "insn table");
  elf.dynamic = 0;
  EXPECT_EQ(marks_text(analyze(elf)->marks(0x1024)), "insn start") << "no GOT is known";
}

// "PLACE SIZE ADDRESS" of each; "-" for an address that is not the file's.
std::string relocated_text(const Module& module, std::uint64_t begin, std::uint64_t end) {
  std::ostringstream out;
  for (const Relocated& r : module.relocated(begin, end)) {
    out << std::hex << r.place << ' ' << r.size << ' ';
    if (r.address) {
      out << *r.address << ';';
    } else {
      out << "-;";
    }
  }
  return out.str();
}

TEST(NarrowModule, SaysWhatTheDynamicLinkerWritesIntoTheText) {
  ElfBuilder elf;
  elf.narrow = true;
  elf.text = {
      0xb8, 0x04, 0x20, 0x00, 0x00,  // 1000 mov eax, 2004
      0xe8, 0xfc, 0xff, 0xff, 0xff,  // 1005 call puts
      0xc3,                          // 100a ret
  };
  const std::vector<Elf32_Rel> relocations = {
      {.r_offset = 0x1001, .r_info = ELF32_R_INFO(0, R_386_RELATIVE)},
      {.r_offset = 0x1006, .r_info = ELF32_R_INFO(1, R_386_PC32)},
  };
  ElfBuilder fixed = elf;
  add_dynamic(fixed, relocations, 0x2800);
  EXPECT_EQ(relocated_text(*analyze(fixed), 0x1000, 0x100b), "") << "without DT_TEXTREL";
  add_dynamic(elf, relocations, 0x2800, 0, true);
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_EQ(relocated_text(*module, 0x1000, 0x100b), "1001 4 2004;1006 4 -;");
  EXPECT_EQ(relocated_text(*module, 0x1004, 0x1006), "1001 4 2004;") << "its last byte";
  EXPECT_EQ(relocated_text(*module, 0x1005, 0x1006), "");
  EXPECT_EQ(relocated_text(*module, 0x1009, 0x100b), "1006 4 -;");
}

TEST(NarrowModule, AskedAddressesAreTaken) {
  ElfBuilder elf;
  elf.narrow = true;
  elf.text = {
      0xe8, 0x00, 0x00, 0x00, 0x00,        // 1000 call 1005
      0x59,                                // 1005 pop ecx
      0x81, 0xc1, 0x08, 0x00, 0x00, 0x00,  // 1006 add ecx, 100d-1005
      0xc3,                                // 100c ret
      0x90, 0xc3,                          // 100d nop; ret
  };
  add_dynamic(elf, {}, 0x2800);
  EXPECT_EQ(marks_text(analyze(elf)->marks(0x100d)), "insn taken");
}

TEST(NarrowModule, TablesOfAddressesAndConstantsAreThoseOf32Bits) {
  ElfBuilder elf;
  elf.narrow = true;
  elf.type = ET_EXEC;
  elf.text = {
      0xff, 0x24, 0x85, 0x04, 0x20, 0x00, 0x00,  // 1000 jmp [eax*4+2004]
      0x90, 0x90, 0x90, 0xc3,                    // 1007
  };
  append(elf.data, std::uint32_t{0x1008});
  append(elf.data, std::uint32_t{0x1009});
  append(elf.data, std::uint16_t{0});
  append(elf.data, std::uint32_t{0x1007});  // at 200a: nothing lies there
  elf.functions = {{0x1000, 0x100b, 0, 1, 0}};
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_EQ(marks_text(module->marks(0x1008)), "insn taken");
  EXPECT_EQ(marks_text(module->marks(0x1009)), "insn taken table");
  EXPECT_EQ(marks_text(module->marks(0x1007)), "insn");
}

TEST(NarrowModule, RelocationsAddToWhatLiesThere) {
  ElfBuilder elf;
  elf.narrow = true;
  elf.text = Bytes(0x30, 0x90);
  for (const std::uint32_t target : {0x1004, 0x1008, 0x100c, 0x1010, 0x1014, 0x1018}) {
    append(elf.data, target);
  }
  const Elf32_Word relr = kData + 0x18;
  append(elf.data, Elf32_Word{kData + 0x10});
  append(elf.data, Elf32_Word{0b11});  // and the word behind
  add_dynamic(elf,
              {{0x2000, R_386_RELATIVE}, {0x2004, R_386_IRELATIVE}, {0x2008, R_386_TLS_TPOFF32}},
              0x2800, relr);
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->has(0x1004, kTaken));
  EXPECT_TRUE(module->has(0x1008, kTaken));
  EXPECT_FALSE(module->has(0x100c, kTaken)) << "its number is that of x86-64's IRELATIVE";
  EXPECT_FALSE(module->has(0x1010, kTaken));
  EXPECT_TRUE(module->has(0x1014, kTaken));
  EXPECT_TRUE(module->has(0x1018, kTaken));
}

TEST(NarrowModule, CallsThroughSlotsCountFromTheGot) {
  ElfBuilder elf;
  elf.narrow = true;
  elf.text = {
      0xff, 0x93, 0xf8, 0xff, 0xff, 0xff,  // 1000 call [ebx-8]
      0xff, 0x93, 0x08, 0x00, 0x00, 0x00,  // 1006 call [ebx+8]: may be a virtual function
      0xff, 0x25, 0xf8, 0x27, 0x00, 0x00,  // 100c jmp [27f8]
  };
  add_dynamic(
      elf, {{0x27f8, ELF32_R_INFO(1, R_386_GLOB_DAT)}, {0x2808, ELF32_R_INFO(1, R_386_JMP_SLOT)}},
      0x2800);
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  ASSERT_EQ(module->slots().size(), 2u);
  EXPECT_EQ(module->slots()[0].name, "puts");
  for (const std::uint64_t at : {0x1000, 0x100c}) {
    ASSERT_TRUE(module->slot_of(at)) << at;
    EXPECT_EQ(module->slot_of(at)->name, "puts");
  }
  EXPECT_FALSE(module->slot_of(0x1006));
}

TEST(NarrowModule, ExceptionsLandWhereTheTablesSay) {
  ElfBuilder elf;
  elf.narrow = true;
  elf.text = Bytes(0x30, 0x90);
  elf.functions = {{0x1000, 0x1030, 0x05, 0x08, 0x20}};
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->complete());
  EXPECT_TRUE(module->lands(0x100d, 0x1020));
  EXPECT_FALSE(module->lands(0x100e, 0x1020));
}

TEST(DamagedModule, EveryLengthOfA32BitFileIsReadOrRefused) {
  ElfBuilder elf;
  elf.narrow = true;
  elf.text = kThunk;
  append(elf.text, Bytes{0xe8, 0xf7, 0xff, 0xff, 0xff, 0x81, 0xc3});
  elf.functions = {{0x1000, 0x1004, 0, 5, 5}};
  add_dynamic(elf, {{0x2000, R_386_RELATIVE}}, 0x2800, kData);
  const Bytes whole = elf.build();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(Module::analyze(cut)) << size;
  }
  EXPECT_TRUE(Module::analyze(whole));
}

TEST(DamagedModule, EveryLengthOfAFileIsReadOrRefused) {
  ElfBuilder elf;
  elf.text = {0xe8, 0x00, 0x00, 0x00, 0x00, 0xc3};
  elf.data = Bytes(16, 0xff);
  elf.functions = {{0x1000, 0x1006, 0, 5, 5}};
  const Bytes whole = elf.build();
  // The headers come last.
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(Module::analyze(cut)) << size;
  }
  EXPECT_TRUE(Module::analyze(whole));
  std::size_t incomplete = 0;
  for (elf.unwind_cut = 1; elf.unwind_cut < 50; ++elf.unwind_cut) {
    const auto module = Module::analyze(elf.build());
    ASSERT_TRUE(module);
    incomplete += !(*module)->complete();
    EXPECT_TRUE((*module)->landings().empty());
  }
  EXPECT_EQ(incomplete, 44u) << "all but those right before an entry or in its length";
}

TEST(DamagedModule, TablesThatAreCutOffAreTold) {
  ElfBuilder elf;
  elf.text = Bytes(0x30, 0x90);
  elf.functions = {{0x1000, 0x1030, 0x05, 0x08, 0x20}};
  EXPECT_TRUE(analyze(elf)->complete());
  elf.unwind_cut = 1;
  EXPECT_FALSE(analyze(elf)->complete());
}

TEST(DamagedModule, OverlappingTextIsRefused) {
  ElfBuilder elf;
  elf.text = Bytes(0x100, 0x90);
  elf.more = {{.p_type = PT_LOAD,
               .p_flags = PF_R | PF_X,
               .p_offset = kText + 0x80,
               .p_vaddr = 0x9000,
               .p_filesz = 0x80,
               .p_memsz = 0x80}};
  const auto module = Module::analyze(elf.build());
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, ErrorCode::malformed);
}

TEST(DamagedModule, MoreSegmentsThanALinkerMakesAreRefused) {
  ElfBuilder elf;
  elf.text = {0xc3};
  elf.more = std::vector<Elf64_Phdr>(254, {.p_type = PT_LOAD});
  const auto module = Module::analyze(elf.build());
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, ErrorCode::unsupported);
  elf.more.pop_back();
  EXPECT_TRUE(Module::analyze(elf.build()));
}

TEST(DamagedModule, AnotherMachineIsRefused) {
  ElfBuilder elf;
  elf.text = {0xc3};
  Bytes bytes = elf.build();
  bytes[offsetof(Elf64_Ehdr, e_machine)] = EM_386;
  const auto module = Module::analyze(bytes);
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, ErrorCode::unsupported);
  elf.narrow = true;
  bytes = elf.build();
  bytes[offsetof(Elf32_Ehdr, e_machine)] = EM_X86_64;  // x32
  const auto x32 = Module::analyze(bytes);
  ASSERT_FALSE(x32);
  EXPECT_EQ(x32.error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace hodo::text
