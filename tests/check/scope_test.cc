// Which of the files that claim a name is the library that a program depends on.
#include "scope.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "elf_builder.h"

namespace hodo::check {
namespace {

using text::append;
using text::Bytes;
using text::ElfBuilder;
using text::kData;

struct File {
  std::string name, soname;
  std::vector<std::string> needed;
  bool program = false;
  std::string filter = {}, auxiliary = {}, audit = {};
};

class ScopeTest : public testing::Test {
 protected:
  ~ScopeTest() override { std::filesystem::remove_all(folder_); }

  void add(const File& file) {
    const std::string& path = paths_.emplace_back((folder_ / file.name).string());
    const Bytes bytes = elf_of(file).build();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  // Names of the files that the program does not depend on, each with those that it brings.
  std::vector<std::string> strangers() {
    std::vector<session::MappedFile> files;
    for (const std::string& path : paths_) files.push_back({path, path});
    const Scope scope(files, modules_);
    std::vector<std::string> out;
    for (const auto& [file, brings] : scope.strangers()) {
      std::string& name = out.emplace_back(std::filesystem::path(file.path).filename());
      for (const auto path : brings) name += "+" + std::filesystem::path(path).filename().string();
    }
    return out;
  }

 private:
  // Strings, then the dynamic section.
  static ElfBuilder elf_of(const File& file) {
    ElfBuilder elf;
    elf.text = {0xc3};
    elf.data = {0};
    std::vector<Elf64_Dyn> entries;
    const auto add = [&](std::int64_t tag, const std::string& text) {
      entries.push_back({tag, {elf.data.size()}});
      append(elf.data, Bytes(text.c_str(), text.c_str() + text.size() + 1));
    };
    if (!file.soname.empty()) add(DT_SONAME, file.soname);
    for (const std::string& name : file.needed) add(DT_NEEDED, name);
    if (!file.filter.empty()) add(DT_FILTER, file.filter);
    if (!file.auxiliary.empty()) add(DT_AUXILIARY, file.auxiliary);
    if (!file.audit.empty()) add(DT_AUDIT, file.audit);
    entries.push_back({DT_STRTAB, {kData}});
    entries.push_back({DT_NULL, {0}});
    if (file.program) {
      const std::string linker = "/lib/ld.so";
      const std::uint64_t at = kData + elf.data.size();
      append(elf.data, Bytes(linker.c_str(), linker.c_str() + linker.size() + 1));
      elf.more.push_back({.p_type = PT_INTERP,
                          .p_flags = PF_R,
                          .p_offset = at,
                          .p_vaddr = at,
                          .p_paddr = at,
                          .p_filesz = linker.size() + 1,
                          .p_memsz = linker.size() + 1,
                          .p_align = 1});
    }
    elf.data.resize((elf.data.size() + 7) / 8 * 8);
    elf.dynamic = kData + elf.data.size();
    for (const Elf64_Dyn& entry : entries) append(elf.data, entry);
    return elf;
  }

  static std::filesystem::path make_folder() {
    std::string name = testing::TempDir() + "/scope.XXXXXX";
    return mkdtemp(name.data());
  }

  std::filesystem::path folder_ = make_folder();
  std::vector<std::string> paths_;
  Modules modules_{nullptr};
};

using Names = std::vector<std::string>;

TEST_F(ScopeTest, FindsLibrariesByDependencies) {
  add({.name = "program", .needed = {"liba.so.1"}, .program = true});
  add({.name = "other.so"});
  add({.name = "liba.so.1", .soname = "liba.so.1", .needed = {"/opt/libb.so"}});
  add({.name = "libb.so"});
  EXPECT_EQ(strangers(), Names{"other.so"});
}

TEST_F(ScopeTest, KnowsLibrariesThatStandInOrAudit) {
  add({.name = "program",
       .needed = {"liba.so", "libb.so"},
       .program = true,
       .audit = "/opt/libfirst.so:libsecond.so"});
  add({.name = "liba.so", .filter = "libfor_a.so"});
  add({.name = "libb.so", .auxiliary = "libfor_b.so"});
  add({.name = "libfor_a.so"});
  add({.name = "libfirst.so"});
  add({.name = "libsecond.so"});
  add({.name = "other.so"});
  // That of libb.so is not there, which is no reason to conclude nothing.
  EXPECT_EQ(strangers(), Names{"other.so"});
}

TEST_F(ScopeTest, KnowsNoStrangersWhereAFilterIsMissing) {
  add({.name = "program", .program = true, .filter = "libreal.so"});
  add({.name = "other.so"});
  EXPECT_EQ(strangers(), Names{});
}

TEST_F(ScopeTest, TakesALibraryByItsSonameWhereNobodyElseHasIt) {
  add({.name = "program", .needed = {"libc.so.6"}, .program = true});
  add({.name = "libc-2.31.so", .soname = "libc.so.6"});
  EXPECT_EQ(strangers(), Names{});
}

// As libfaketime does libm. Of two that depend on each other the first is told.
TEST_F(ScopeTest, WhatAStrangerDependsOnIsNoOtherOne) {
  add({.name = "program", .needed = {"libc.so.6"}, .program = true});
  add({.name = "first.so", .needed = {"libm.so.6", "second.so"}});
  add({.name = "third.so", .needed = {"libc.so.6"}});
  add({.name = "second.so", .needed = {"first.so"}});
  add({.name = "libm.so.6"});
  add({.name = "libc.so.6"});
  EXPECT_EQ(strangers(), (Names{"first.so+second.so+libm.so.6", "third.so"}));
}

// A preloaded library that calls itself so and loads the genuine one by its path.
TEST_F(ScopeTest, TakesNoLibraryForAnotherByItsSonameAlone) {
  add({.name = "program", .needed = {"liba.so.1"}, .program = true});
  add({.name = "libx.so", .soname = "liba.so.1", .needed = {"/lib/liba.so.1"}});
  add({.name = "liba.so.1", .soname = "liba.so.1"});
  EXPECT_EQ(strangers(), Names{"libx.so"});
}

TEST_F(ScopeTest, KnowsLibrariesBehindLinks) {
  add({.name = "program", .needed = {"liba.so.1"}, .program = true});
  add({.name = "libx.so", .soname = "liba.so.1", .needed = {"/lib/liba.so.1.2.3"}});
  add({.name = "liba.so.1.2.3", .soname = "liba.so.1"});
  EXPECT_EQ(strangers(), Names{"libx.so"});
}

}  // namespace
}  // namespace hodo::check
