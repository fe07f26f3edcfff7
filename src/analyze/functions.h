// Which function an address belongs to, remembered.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hodo/analyze/call_tree.h"
#include "hodo/flow/branch.h"
#include "hodo/session/names.h"

namespace hodo::analyze {

// Where an address lies. Functions are one by name and object, whatever process runs them.
struct Located {
  std::uint32_t function = 0;  // index in Functions::all()
  std::uint32_t object = 0;    // a number per object
  std::uint64_t start = 0;     // of the function: [start, start + size)
  std::uint64_t size = 0;      // 0: no symbol covers the address
  bool entry = false;          // the address is the function's first
  bool stub = false;           // a PLT stub
  bool resolver = false;       // where the dynamic linker binds a stub at its first call
  bool sets_jump = false;  // setjmp and its like: what follows a call of it longjmp goes back to

  bool known() const { return size != 0; }
  // No more can be told about code without symbols than whose it is.
  bool same_function(const Located& other) const {
    return known() || other.known() ? function == other.function : object == other.object;
  }
};

// Compilers move the rare part of a function away and name it "f.cold", or "f.cold.3": "f" of
// those.
std::string without_cold(std::string name);

// [begin, end) in a space.
struct CodeRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool has(std::uint64_t address) const { return address - begin < end - begin; }
};

class Functions {
 public:
  // A trace has few functions, but one that somebody made up may name any number: those behind the
  // limit are all function 0, "[other]".
  static constexpr std::size_t kMost = std::size_t{1} << 20;

  explicit Functions(const session::Names& names);
  // Others that ask the same names, at the same time if need be.
  Functions with_same_names() const { return {names_, asking_}; }

  // Both are valid until the next question.
  const Located& at(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
    return find({address, space, false}, time);
  }
  // The same for the target of a call: without a symbol, a function of its own.
  const Located& called(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
    return find({address, space, true}, time);
  }
  // Answers hold as long as it is the same.
  std::uint32_t naming(std::uint32_t space, std::uint64_t time) {
    if (!asked_ || asked_->space != space || asked_->time != time) ask(space, time);
    return asked_->naming;
  }
  // The symbol of a file that has the address, if one has: at() says the same of the symbol for
  // each of its addresses. For any thread, at any time.
  const symbol::Symbol* symbol_at(std::uint32_t space, std::uint64_t address,
                                  std::uint64_t time) const;
  // As Names::replaced().
  bool replaced(std::uint32_t space, std::uint64_t after, std::uint64_t until) const {
    return names_.replaced(space, after, until);
  }
  // Whether a function of a file has a straight line of code, the jump at its end, and its target;
  // or one object that names nothing there. For any thread, at any time.
  bool one_has(std::uint32_t space, std::uint64_t line, const Branch& jump) const;
  // Whether this is and stays code without a name. For any thread, at any time.
  bool is_nameless(std::uint32_t space, std::uint64_t address, std::uint64_t time) const;
  // The code whose calls an exception that lands at `pad` may have come through; empty if none
  // lands there, or nobody knows.
  std::vector<CodeRange> calls_landing_at(std::uint32_t space, std::uint64_t pad,
                                          std::uint64_t time) const;
  // The function that stands for something that is none, as "[unknown caller]".
  std::uint32_t pseudo(const std::string& name) { return intern(name, ""); }

  const std::vector<Function>& all() const { return functions_; }
  // Nothing that is known was mapped there.
  bool is_nowhere(const Located& located) const {
    return !located.known() && functions_[located.function].object.empty();
  }
  // The kernel's page to which functions return whose return it probes, and from where it leads to
  // whoever called them (uprobes).
  bool is_of_probes(const Located& located) const {
    return !located.known() && functions_[located.function].object == "[uprobes]";
  }

 private:
  struct Key {
    std::uint64_t address;
    std::uint32_t space;
    bool called;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t h = (key.address ^ std::uint64_t{key.space} << 48) * 0x9e3779b97f4a7c15;
      return static_cast<std::size_t>((h ^ h >> 32) * 2 + key.called);
    }
  };
  struct Known {
    Located located;
    std::uint32_t naming = 0;
  };
  // What was asked for last, as it is in known_: a line of the cache.
  struct alignas(64) Recent {
    Located located;
    Key key{};
    std::uint32_t naming = 0;
    bool used = false;
  };
  static_assert(sizeof(Recent) == 64);

  const Located& find(const Key& key, std::uint64_t time) {
    // Most questions are asked with the time of the one before.
    const std::uint32_t now = naming(key.space, time);
    Recent& recent = recent_[Hash{}(key) & (kRecent - 1)];
    if (!(recent.key == key) || recent.naming != now || !recent.used) {
      recent = {find_known(key, time, now), key, now, true};
    }
    return recent.located;
  }
  const Located& find_known(const Key& key, std::uint64_t time, std::uint32_t naming);
  void ask(std::uint32_t space, std::uint64_t time);
  // asking_ is held.
  const symbol::Symbol* known_symbol_at(std::uint32_t space, std::uint64_t address,
                                        std::uint64_t time) const;
  // The object that has no name for this address, and nobody else ever has one; empty if it may
  // have one.
  std::string nameless_object(std::uint32_t space, std::uint64_t address, std::uint64_t time) const;
  session::Place place_of(const Key& key, std::uint64_t time) const;
  Located look_up(const Key& key, std::uint64_t time);
  std::uint32_t intern(const std::string& name, const std::string& object, bool synthetic = false);

  Functions(const session::Names& names, std::shared_ptr<std::mutex> asking);

  const session::Names& names_;
  std::shared_ptr<std::mutex> asking_;  // names_
  std::vector<Function> functions_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> numbers_;
  std::unordered_map<Key, Known, Hash> known_;
  static constexpr std::size_t kRecent = std::size_t{1} << 12;
  std::vector<Recent> recent_;
  // The naming of the last question.
  struct Asked {
    std::uint32_t space = 0;
    std::uint64_t time = 0;
    std::uint32_t naming = 0;
  };
  std::optional<Asked> asked_;
};

}  // namespace hodo::analyze
