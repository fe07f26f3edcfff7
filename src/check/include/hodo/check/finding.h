// What a check found.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/flow/branch.h"
#include "hodo/session/sink.h"

namespace hodo::check {

// How sure it is that something is wrong.
enum class Grade : std::uint8_t {
  impossible,   // the text has no such branch, no call explains the return, no file has the code
  unexplained,  // possible in principle, but nothing was seen that would explain it
  unusual,      // legal by the text, and what attackers do
  explained,    // looked wrong and was explained; for those who ask
};
std::string_view name(Grade grade);

// A rule as a user sees it.
struct Rule {
  std::string_view name;     // "return.target"
  Grade grade;               // the worst that it reports
  std::string_view summary;  // one line, no period
};

// All of them. The addresses of the elements are the rules' identity.
std::span<const Rule> rules();
// Null if there is no such rule.
const Rule* find_rule(std::string_view name);

// One thing that is known of what should have been, such as where a return should have gone.
struct Fact {
  std::string_view what;      // "should go to"
  std::uint64_t address = 0;  // what it is said of; 0: nothing that has an address
  std::string text;           // as Finding::reason; may be empty
};

// An instruction, as it ran.
struct CodeLine {
  std::uint64_t address = 0;
  std::string text;
};

// Everything that happened for one cause.
struct Finding {
  const Rule* rule = nullptr;
  Grade grade = Grade::impossible;
  std::string reason;  // one sentence; may hold names from files of the program: not yet printable
  std::vector<Fact> facts;  // the first is what one asks first
  std::uint64_t order = 0;  // how many were found before
  // Findings of the same number are steps of one attack, see by_attack(); 0: of none but itself.
  std::uint64_t attack = 0;
  std::vector<Finding> steps;  // the others, in the order in which they were found
  std::uint64_t count = 0;
  std::uint64_t doubtful = 0;     // of them, next to a loss, from whose damage they may come
  std::uint64_t losses = 0;       // so many of those there were
  std::uint64_t newest_loss = 0;  // the checker's number of the last of them
  // The first time it happened.
  session::Context who;
  Branch branch;
  std::vector<Branch> before;  // of the same thread, oldest first, at most kBefore
  std::vector<Branch> after;   // at most kAfter
  // What ran up to the branch, as far as it lay in a straight line, and where it leads to.
  std::vector<CodeLine> code_from;  // at most kCode, the branch last
  std::vector<CodeLine> code_to;    // at most kCode

  // Nothing speaks for it but parts of the trace that may be damaged. Damage does not make the same
  // thing up again and again: where it is found at several losses, it is what made them, as changed
  // code does.
  bool is_doubtful() const { return doubtful != 0 && doubtful == count && losses < kNoAccident; }
  static constexpr std::uint64_t kNoAccident = 4;

  static constexpr std::size_t kBefore = 32;
  static constexpr std::size_t kAfter = 8;
  static constexpr std::size_t kCode = 4;
};

// Makes one finding of those that are steps of one attack: the most certain one, or of those the
// first that was found, has the others as its steps. Attacks are in the order of these.
std::vector<Finding> by_attack(std::vector<Finding> findings);

}  // namespace hodo::check
