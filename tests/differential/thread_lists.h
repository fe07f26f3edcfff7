#pragma once

// Branches by thread, as branch_list.py reads them: for each thread its number, how many branches
// it has, and those, three numbers each: kind, from and to. All are 64 bits long, in this machine's
// order.
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string_view>
#include <vector>

namespace lists {

// branch_list.py has the same names in the same order.
inline constexpr std::array<std::string_view, 22> kKinds = {
    "cond",  "jmp",  "ijmp", "call",      "icall", "ret",     "syscall", "sysret",
    "int",   "iret", "irq",  "exc",       "abort", "vmentry", "vmexit",  "unknown",
    "begin", "end",  "lost", "picked-up", "gap",   "other"};

// The number of a kind; of one that kKinds has not, that of "other".
constexpr std::uint64_t kind_number(std::string_view name) {
  std::uint64_t number = 0;
  while (number + 1 < kKinds.size() && kKinds[number] != name) ++number;
  return number;
}

struct Branch {
  std::uint64_t kind, from, to;
};

class ThreadLists {
 public:
  void add(std::int64_t thread, const Branch& branch) {
    if (last_ == nullptr || thread != last_thread_) {
      last_ = &threads_[thread];
      last_thread_ = thread;
    }
    last_->push_back(branch);
  }

  // False if it could not write everything.
  bool write(std::FILE* to) const {
    for (const auto& [thread, branches] : threads_) {
      const std::array<std::uint64_t, 2> head = {static_cast<std::uint64_t>(thread),
                                                 branches.size()};
      std::fwrite(head.data(), sizeof head, 1, to);
      std::fwrite(branches.data(), sizeof(Branch), branches.size(), to);
    }
    return std::fflush(to) == 0 && std::ferror(to) == 0;
  }

 private:
  std::map<std::int64_t, std::vector<Branch>> threads_;
  std::vector<Branch>* last_ = nullptr;  // of last_thread_
  std::int64_t last_thread_ = 0;
};

}  // namespace lists
