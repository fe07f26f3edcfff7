// Trees of /sys and /proc files as different machines show them, in a directory that goes away
// again.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "hodo/capture/pmu.h"

namespace hodo::capture {

using Files = std::map<std::string, std::string>;  // path -> one line of text

// What all generations have; a newer one adds to it or overrides it.
inline Files broadwell_pt() {
  return {
      {"type", "6"},
      {"max_nonturbo_ratio", "27"},
      {"tsc_art_ratio", "0:0"},
      {"format/cyc", "config:1"},
      {"format/fup_on_ptw", "config:5"},
      {"format/mtc", "config:9"},
      {"format/mtc_period", "config:14-17"},
      {"format/branch", "config:13"},
      {"format/cyc_thresh", "config:19-22"},
      {"format/noretcomp", "config:11"},
      {"format/psb_period", "config:24-27"},
      {"format/pt", "config:0"},
      {"format/ptw", "config:12"},
      {"format/pwr_evt", "config:4"},
      {"format/tsc", "config:10"},
      {"caps/max_subleaf", "0"},
      {"caps/cr3_filtering", "1"},
      {"caps/psb_cyc", "0"},
      {"caps/ip_filtering", "0"},
      {"caps/mtc", "0"},
      {"caps/ptwrite", "0"},
      {"caps/power_event_trace", "0"},
      {"caps/topa_output", "1"},
      {"caps/topa_multiple_entries", "0"},
      {"caps/single_range_output", "0"},
      {"caps/output_subsys", "0"},
      {"caps/payloads_lip", "0"},
      {"caps/num_address_ranges", "0"},
      {"caps/mtc_periods", "0"},
      {"caps/cycle_thresholds", "0"},
      {"caps/psb_periods", "0"},
  };
}

inline Files with(Files base, const Files& changes) {
  for (const auto& [name, text] : changes) base[name] = text;
  return base;
}

inline Files skylake_pt() {
  return with(broadwell_pt(), {{"type", "8"},
                               {"nr_addr_filters", "2"},
                               {"max_nonturbo_ratio", "34"},
                               {"tsc_art_ratio", "284:2"},
                               {"caps/max_subleaf", "1"},
                               {"caps/psb_cyc", "1"},
                               {"caps/ip_filtering", "1"},
                               {"caps/mtc", "1"},
                               {"caps/topa_multiple_entries", "1"},
                               {"caps/single_range_output", "1"},
                               {"caps/num_address_ranges", "2"},
                               {"caps/mtc_periods", "249"},  // 0 3 6 9
                               {"caps/cycle_thresholds", "3fff"},
                               {"caps/psb_periods", "3f"}});
}

// Sapphire Rapids.
inline Files sapphire_rapids_pt() {
  return with(skylake_pt(), {{"type", "10"},
                             {"max_nonturbo_ratio", "20"},
                             {"tsc_art_ratio", "160:2"},
                             {"format/event", "config:31"},
                             {"format/notnt", "config:55"},
                             {"caps/ptwrite", "1"},
                             {"caps/power_event_trace", "1"},
                             {"caps/event_trace", "1"},
                             {"caps/tnt_disable", "1"}});
}

class FakeSystem {
 public:
  FakeSystem() {
    std::string name = ::testing::TempDir() + "system.XXXXXX";
    root_ = ::mkdtemp(name.data());
    std::filesystem::create_directories(paths().event_source);
    std::filesystem::create_directories(paths().sys_kernel);
    set_cpuinfo("GenuineIntel", "fpu tsc intel_pt");
    write("kernel/perf_event_paranoid", "2");
    write("kernel/perf_event_mlock_kb", "516");
    write("online", "0-1");
  }
  ~FakeSystem() { std::filesystem::remove_all(root_); }
  FakeSystem(const FakeSystem&) = delete;
  FakeSystem& operator=(const FakeSystem&) = delete;

  SystemPaths paths() const {
    return {.event_source = root_ + "/devices",
            .cpuinfo = root_ + "/cpuinfo",
            .sys_kernel = root_ + "/kernel",
            .online_cpus = root_ + "/online",
            .kvm_intel = root_ + "/kvm_intel"};
  }
  std::string root() const { return root_; }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path full = root_ + "/" + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text << '\n';
  }
  void add_pmu(const std::string& name, const Files& files) const {
    for (const auto& [path, text] : files) write("devices/" + name + "/" + path, text);
  }
  void set_cpuinfo(const std::string& vendor, const std::string& flags) const {
    write("cpuinfo", "processor\t: 0\nvendor_id\t: " + vendor + "\nflags\t\t: " + flags + "\n");
  }

 private:
  std::string root_;
};

}  // namespace hodo::capture
