// Who made memory executable that is in no file: the file whose code had the system call made by
// which the process got that right (session::Grant), as the calls say that were open then.
// Memory that a thread got in which something was found before has no maker that answers for it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "edge.h"
#include "hodo/session/session.h"
#include "step.h"

namespace hodo::check {

class Makers {
 public:
  // Both must outlive this; `session` must have regions().
  Makers(session::Session& session, Locator& locator) : locator_(locator) { move_to(session); }
  // The same of another session of the recording; what was seen is kept.
  void move_to(session::Session& session);

  // The thread comes back from the kernel; what was open before still is, in its stack.
  void see_return(const Step& step);

  // The path of the file, as recorded; empty: not known, or not yet, as another thread asked that
  // comes later.
  std::string_view maker(const session::Grant& grant) const;
  // Whether it did so in a thread in which nothing had been found.
  bool answers(const session::Grant& grant) const;

 private:
  struct Maker {
    std::string path;
    bool answers = false;
  };
  Maker find_maker(const Step& step) const;

  Locator& locator_;
  std::map<std::int32_t, std::vector<std::uint64_t>> wanted_;  // by thread; times, ascending
  std::map<session::Grant, Maker> known_;
};

}  // namespace hodo::check
