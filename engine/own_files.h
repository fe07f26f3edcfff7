// Where the program has all descriptors in use that it may have, the engine's own work with files
// is done by a thread that has its own copy of the table of descriptors, some of which it closes
// there. It shares all else with the thread that it is made by, which waits for it; to the program
// it does not exist.
#pragma once

#include <cerrno>

namespace hodo::engine {

using FileWork = void (*)(void* with);
// `keep`: a descriptor that the work needs; -1: none. False: no such thread could be made.
bool in_own_files(FileWork work, void* with, long keep);

// `work` returns -EMFILE where there is no descriptor: it is then done once more, with one.
template <class Work>
long with_descriptor(Work work) {
  struct Done {
    Work& work;
    long result;
  } done{work, work()};
  if (done.result != -EMFILE) return done.result;
  in_own_files(
      [](void* with) {
        auto& again = *static_cast<Done*>(with);
        again.result = again.work();
      },
      &done, -1);
  return done.result;
}

}  // namespace hodo::engine
