// What hodo's own recorder wrote about a recording: feature section 255 (docs/file-format.md).
#pragma once

#include <string>
#include <vector>

#include "hodo/perfdata/model.h"

namespace hodo::session {

struct RecorderFacts {
  std::string source;                   // "qemu", "qemu-system", "kvm", ...
  std::vector<std::string> unrecorded;  // what the recorder knows to be missing, each a line
};

// Empty where the recorder was another one, or did not finish.
RecorderFacts recorder_facts(const perfdata::FileFacts& facts);

// The processes are those of a virtual machine, so that their numbers and paths mean nothing here.
bool of_guest(const perfdata::Session& recording);

}  // namespace hodo::session
