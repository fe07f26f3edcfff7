// Collects the sideband of one pass over a file, sorts it by time and joins it into a Model.
#pragma once

#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "aux_layout.h"
#include "model_impl.h"

namespace hodo::perfdata {

class ModelBuilder {
 public:
  // Events of processes and mappings, and context switches, each; against hostile files.
  static constexpr std::size_t kMaxEvents = std::size_t{1} << 23;
  static constexpr std::size_t kMaxSwitches = std::size_t{1} << 25;
  // Code bytes that have to be copied because they lay in COMPRESSED records.
  static constexpr std::size_t kMostCode = std::size_t{1} << 30;  // bytes, all of it

  explicit ModelBuilder(const Reader& reader);
  std::unique_ptr<Model::Impl> build();

 private:
  struct CommEvent {
    std::int32_t pid, tid;
    std::uint32_t name;  // in names_
    bool exec;
  };
  struct ForkEvent {
    Task task;
    bool copies;
  };
  struct ExitEvent {
    Task task;
  };
  struct MapEvent {
    std::int32_t pid;
    Mapping mapping;
  };
  struct KeepEvent {
    std::uint32_t index;
  };
  struct Event {
    std::uint64_t time;
    std::variant<CommEvent, ForkEvent, ExitEvent, MapEvent, KeepEvent> what;
  };

  // What each record adds.
  void visit(const Record& record);
  void on(const Record& record, const Comm& comm);
  void on(const Record& record, const Task& task);
  void on(const Record& record, const Mmap& mmap);
  void on(const Record& record, const TextPoke& poke);
  void on(const Record& record, const Switch& change);
  void on(const Record& record, const ItraceStart& start);
  void on(const Record& record, const Aux& aux) { aux_.add(record, aux); }
  void on(const Record& record, const Auxtrace& piece) { aux_.add(record, piece); }
  void on(const Record& record, const AuxtraceInfo& info);
  void on(const Record& record, const TimeConv& conversion);
  void on(const Record& record, const Lost& lost) { add_lost(record, lost.count); }
  void on(const Record& record, const LostSamples& lost) { add_lost(record, lost.count); }
  void on(const Record& record, const Sample& sample);
  template <class T>
  void on(const Record&, const T&) {}  // says nothing about the session

  void add(const Record& record, std::uint64_t time, Event event);
  void add_on_cpu(const Record& record, OnCpu who);
  void add_lost(const Record& record, std::uint64_t count);
  std::uint64_t time_of(const Record& record) const;
  std::uint32_t name_index(std::string_view name);
  std::uint32_t file_index(const Mmap& mmap);

  void replay();
  void sort_switches();
  void use_header_build_ids();
  void index_lives();
  void find_config();

  std::unique_ptr<Model::Impl> out_;
  AuxLayout aux_;
  std::vector<Event> events_;
  std::size_t switches_ = 0;
  std::size_t code_bytes_ = 0;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> name_indices_, file_indices_;
};

}  // namespace hodo::perfdata
