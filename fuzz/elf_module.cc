// The analysis of a module that somebody else made: whatever the file says, it ends soon, and its
// answers agree with each other.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "hodo/text/module.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hodo::text;
  const auto analyzed = Module::analyze(std::vector<std::uint8_t>(data, data + size));
  if (!analyzed) return 0;
  const Module& module = **analyzed;
  std::uint64_t end = 0;
  for (const Function& f : module.functions()) {
    if (f.begin < end || f.begin >= f.end) std::abort();
    end = f.end;
    if (!module.same_function(f.begin, f.end - 1)) std::abort();
  }
  for (const hodo::image::Segment& s : module.elf().segments) {
    for (std::uint64_t i = 0; i < s.file_size && module.is_text(s.vaddr + i); ++i) {
      const std::uint64_t at = s.vaddr + i;
      if (module.has(at, kInsn) && !module.insn(at)) std::abort();
      module.callee_before(at);
      module.slot_of(at);
    }
  }
  for (const LandingPad& l : module.landings()) module.lands(l.begin + 1, l.pad);
  return 0;
}
