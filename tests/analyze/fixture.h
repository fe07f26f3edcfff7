// A program of a few functions, and paths through it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hodo/session/names.h"
#include "hodo/session/sink.h"

namespace hodo::analyze {

// Functions of 0x100 bytes each: main at 0x1000, f at 0x1100, g at 0x1200, h at 0x1300, f.cold at
// 0x1800, the PLT stub h@plt at 0x1900, _setjmp at 0x1a00, _dl_resolve at 0x3000 and
// _dl_runtime_resolve_xsave at 0x3100 in another object. 0x2000 to 0x2fff is code without symbols,
// 0x5000 to 0x5fff the kernel's page of probes, the rest is unknown.
class Program : public session::Names {
 public:
  Program() {
    add(0x1000, "main");
    add(0x1100, "f");
    add(0x1200, "g");
    add(0x1300, "h");
    add(0x1800, "f.cold");
    add(0x1900, "h@plt", true);
    add(0x1a00, "_setjmp");
    add(0x3000, "_dl_resolve", false, "/lib/ld.so");
    add(0x3100, "_dl_runtime_resolve_xsave", false, "/lib/ld.so");
  }

  session::Place place(std::uint32_t, std::uint64_t address, std::uint64_t) const override {
    auto it = functions_.upper_bound(address);
    if (it != functions_.begin() && address < (--it)->first + 0x100) {
      session::Place place = it->second;
      place.offset = address - it->first;
      return place;
    }
    if (address >= 0x1000 && address < 0x3000) return {.offset = address, .object = "/bin/prog"};
    if (address >= 0x5000 && address < 0x6000) {
      return {.offset = address - 0x5000, .object = "[uprobes]"};
    }
    return {};
  }
  session::Object object(std::uint32_t, std::uint64_t, std::uint64_t) const override { return {}; }
  std::uint32_t generation(std::uint32_t, std::uint64_t) const override { return 0; }
  bool may_name_more(std::uint32_t) const override { return names_more; }

  bool names_more = false;  // some day

 private:
  void add(std::uint64_t address, const std::string& name, bool stub = false,
           const std::string& object = "/bin/prog") {
    functions_[address] = {.symbol = name, .object = object, .size = 0x100, .stub = stub};
  }
  std::map<std::uint64_t, session::Place> functions_;
};

// Branches of one instruction each, a tick apart.
class Path {
 public:
  Path& go(BranchKind kind, std::uint64_t from, std::uint64_t to, int flags = 0) {
    branches_.push_back({.from = from,
                         .to = to,
                         .time = 100 + branches_.size(),
                         .insns = from != 0,
                         .kind = kind,
                         .flags = static_cast<std::uint8_t>(flags)});
    return *this;
  }
  Path& begin(std::uint64_t to, int flags = 0) { return go(BranchKind::begin, 0, to, flags); }
  Path& call(std::uint64_t from, std::uint64_t to) { return go(BranchKind::call, from, to); }
  Path& ret(std::uint64_t from, std::uint64_t to) { return go(BranchKind::ret, from, to); }
  Path& jmp(std::uint64_t from, std::uint64_t to) { return go(BranchKind::jmp, from, to); }
  Path& syscall(std::uint64_t from) { return go(BranchKind::syscall, from, 0, kTraceEnd); }
  Path& signal(std::uint64_t from) { return go(BranchKind::end, from, 0, kAsync | kTraceEnd); }

  const std::vector<Branch>& branches() const { return branches_; }

 private:
  std::vector<Branch> branches_;
};

}  // namespace hodo::analyze
