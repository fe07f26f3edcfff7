// Real processors, by what their CPUID answers (tests/hw/processors/*.cpuid).
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "hodo/hw/cpuid_dump.h"

namespace hodo::hw {

inline std::string processor_file(const std::string& name) {
  return HODO_PROCESSORS "/" + name + ".cpuid";
}

// `instead`: lines that stand for those of the file with the same leaf.
inline CpuidDump processor(const std::string& name, const std::string& instead = {}) {
  std::ifstream file(processor_file(name));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto dump = CpuidDump::parse(instead + text);
  if (!dump) {
    ADD_FAILURE() << name << ": " << dump.error().message;
    return {};
  }
  return std::move(*dump);
}

}  // namespace hodo::hw
