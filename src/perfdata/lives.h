// Processes, threads and mappings over time, from events that come in order of time.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "damage_log.h"
#include "hodo/perfdata/model.h"

namespace hodo::perfdata {

class Lives {
 public:
  // Hostile files could make every fork copy every mapping.
  static constexpr std::size_t kMaxMappings = std::size_t{1} << 22;

  // `kept` is complete before the first event.
  Lives(const std::vector<KeptCode>& kept, DamageLog& damages);

  void comm(std::uint64_t time, std::int32_t pid, std::int32_t tid, std::string name, bool exec);
  // copies: the child begins with its parent's mappings.
  void fork(std::uint64_t time, const Task& task, bool copies);
  void exit(std::uint64_t time, const Task& task);
  // A mapping appears (and replaces what it covers); pid -1 is the kernel.
  void map(std::int32_t pid, Mapping mapping);
  // kept[index] appears at its address.
  void keep(std::uint32_t index);

  // What was built; call once, at the end.
  void finish(std::vector<Process>& processes, std::vector<Thread>& threads,
              std::vector<Mapping>& kernel);

 private:
  // What a process has mapped now: start address -> index in its mappings.
  using Live = std::map<std::uint64_t, std::uint32_t>;
  struct State {
    Process process;
    Live live;
    std::size_t living_threads = 0;
  };

  State& process(std::int32_t pid);
  std::uint32_t thread(std::int32_t pid, std::int32_t tid);
  std::uint32_t add_thread(State& owner, std::int32_t tid, std::uint64_t start);
  void end_thread(std::uint32_t index, std::uint64_t time);
  void end_all(State& state, std::uint64_t time);
  void add(State& state, const Mapping& mapping);
  void evict(State& state, std::uint64_t first, std::uint64_t last, std::uint64_t time);
  // Where in a file all of `mapping` lies by the live mappings, of which it may cover several, as
  // that file's or what was kept of it; null if in none. The first of them.
  static const Mapping* file_below(const State& state, const Mapping& mapping);
  bool shows_kept_code(std::int32_t pid, const Mapping& mapping) const;

  const std::vector<KeptCode>& kept_;
  DamageLog& damages_;
  std::map<std::uint64_t, std::uint32_t> kept_by_offset_;  // of the bytes in the file
  std::vector<State> states_;
  std::vector<Thread> threads_;
  std::unordered_map<std::int32_t, std::size_t> current_process_;   // pid -> states_
  std::unordered_map<std::int32_t, std::uint32_t> current_thread_;  // tid -> threads_
  std::unordered_map<std::int32_t, std::size_t> owner_;             // tid -> states_
  State kernel_;
  std::size_t mappings_ = 0;
  bool full_ = false;
};

}  // namespace hodo::perfdata
