// What a program's runtime tells perf about its code, in files that the program itself writes.
#include <cstdint>
#include <cstdlib>

#include "hodo/symbol/jit.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hodo::symbol;
  const std::span input(data, size);
  for (const JitFunction& f : read_perf_map(input)) {
    if (f.size == 0 || !f.code.empty() || f.name.size() > size) std::abort();
  }
  const auto dump = read_jitdump(input);
  if (!dump) return 0;
  if (dump->functions.size() > kMostJitFunctions) std::abort();
  for (const JitFunction& f : dump->functions) {
    if (f.size == 0 || f.code.size() > f.size || f.name.size() > size) std::abort();
    const bool inside =
        f.code.empty() || (f.code.data() >= data && f.code.data() + f.code.size() <= data + size);
    if (!inside) std::abort();
  }
  return 0;
}
