// Where two paths go different ways because a thread waited for others, or found that it need not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "entry.h"
#include "hodo/ask/place_key.h"
#include "hodo/session/session.h"

namespace hodo::ask {

// Whether a function waits for other threads, or wakes them, and nothing else that a caller could
// tell: locks, futexes and what the C library makes of them. `object`: last path component;
// `function`: demangled.
bool waits_for_threads(std::string_view object, std::string_view function);
// Whether it only lets time go by, as sched_yield and usleep do: what loops until another thread
// has done something calls it.
bool lets_time_go(std::string_view function);

// Of one side. `session` must outlive this.
class Waits {
 public:
  explicit Waits(session::Session& session) : session_(session) {}

  // Whether a branch is a loop by itself, with a PAUSE in it: it waits for another thread.
  bool is_spin(std::uint32_t space, const Branch& branch);

  // If an entry is within a call of a function that waits, the first one behind the outermost such
  // call; nullopt: it is not, or that is not there.
  std::optional<std::size_t> behind_wait(std::span<const Entry> all, std::size_t where);

  // From where paths part, entry `at`, up to where they meet again, entry `meet`; both are there.
  struct Way {
    std::span<const Entry> all;
    std::size_t at = 0;
    std::size_t meet = 0;
    std::uint64_t offset = 0;  // of the branch where they part, in its function
  };
  std::uint64_t offset(std::uint32_t space, std::uint64_t address, std::uint64_t time);
  // Whether nothing but waiting happens on the way: in one function, which calls nothing but such
  // functions, if it is the C library's or a loop that comes to that branch again. (Another that
  // calls one of them only now and then has decided something.)
  bool is_wait(const Way& way);

 private:
  enum class Kind : std::uint8_t { other, waits, passes_time };
  struct Function {
    std::uint64_t start = 0;
    std::uint64_t size = 0;
    Kind kind = Kind::other;
    bool c_library = false;
    bool has(std::uint64_t address) const { return address - start < size; }
  };

  Function at(std::uint32_t space, std::uint64_t address, std::uint64_t time);
  Function look_at(std::uint32_t space, std::uint64_t address, std::uint64_t time) const;
  bool pauses(std::uint32_t space, std::uint64_t begin, std::uint64_t end,
              std::uint64_t time) const;
  bool makes_futex_calls(std::uint32_t space, std::uint64_t start, std::uint64_t size,
                         std::uint64_t time) const;

  session::Session& session_;
  std::unordered_map<PlaceKey, Function, PlaceKey::Hash> functions_;
  Branch loop_;  // that is_spin() was asked about last
  std::uint32_t loop_space_ = 0;
  bool spins_ = false;
};

}  // namespace hodo::ask
