// What each process has done from its beginning, as far as rules ask for it: which calls were made,
// and what was open when it forked.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "hodo/session/session.h"
#include "step.h"

namespace hodo::check {

class Pasts {
 public:
  // `session` must outlive this and have regions().
  explicit Pasts(session::Session& session) { move_to(session); }
  // The same of another session of the recording; what was seen is kept.
  void move_to(session::Session& session);

  Life life(std::uint32_t space) const;
  // The process's space in this session; nullopt: it has none.
  std::optional<std::uint32_t> space(const Life& life) const;

  // A call of the process that was not seen before; 0: nobody knows what is behind it.
  void add_call(std::uint32_t space, std::uint64_t next);
  // Whether all that the process did was seen, from its first instruction.
  bool whole(std::uint32_t space) { return of(space).whole; }
  void set_whole(std::uint32_t space, bool whole) { of(space).whole = whole; }
  // Whether the process, or one that it was forked from, has made the call before this place.
  bool has_called(std::uint32_t space, std::uint64_t next);
  // A jump of the process that leaves a stack and was not seen before.
  void add_switch(std::uint32_t space, std::uint64_t from);
  // Whether `fits` holds for one that the process, or one that it was forked from, has made; true,
  // too, where it made more than are kept.
  bool has_switched(std::uint32_t space, const std::function<bool(std::uint64_t)>& fits);

  // A thread of the process came back from the kernel.
  void see(std::uint32_t space, std::uint64_t time);
  // A thread forks, and a child may go on in its calls.
  void keep_for_children(const Step& step);
  // The first that is seen of a thread: of a child, it goes on in its parent's calls.
  void begin_as_child(const Step& step);

 private:
  struct ForkCall {
    std::uint64_t time = 0;
    ShadowStack stack;
  };
  struct Past {
    bool whole = false;                // all of it was seen
    std::set<std::uint64_t> returned;  // behind every call that it has made
    std::set<std::uint64_t> switches;  // no more than kMostSwitches
    std::optional<Life> parent;        // whose calls were its own, too
    std::vector<ForkCall> forks;       // by time
    bool forgot = false;               // there were more
    std::uint64_t seen = 0;            // when a thread last came back from the kernel
  };
  // Of one process, from different calls.
  static constexpr std::size_t kMostForkCalls = 256;
  static constexpr std::size_t kMostSwitches = 256;

  Past& of(std::uint32_t space) { return pasts_[life(space)]; }

  session::Session* session_ = nullptr;
  std::vector<session::Fork> forks_;
  std::map<Life, Past> pasts_;
};

}  // namespace hodo::check
