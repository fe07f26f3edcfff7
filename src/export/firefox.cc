#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "hodo/session/temp_file.h"
#include "timeline_text.h"
#include "writers.h"

namespace hodo::exports {
namespace {

constexpr std::size_t kMostStacks = std::size_t{1} << 20;  // distinct ones of a thread

// A column of a table, kept in a file without a name until the others have been written.
class Column {
 public:
  Column() : status_(file_.open()) {}

  void add(std::string_view value) {
    buffer_ += values_++ == 0 ? "" : ",";
    buffer_ += value;
    if (buffer_.size() >= kBuffer) flush();
  }
  std::size_t values() const { return values_; }

  Status copy(view::Output& out) {
    flush();
    if (!status_) return status_;
    const auto all = file_.map();
    if (!all) return std::unexpected(all.error());
    out.pass({reinterpret_cast<const char*>(all->data()), all->size()});
    return {};
  }

 private:
  static constexpr std::size_t kBuffer = std::size_t{1} << 16;

  void flush() {
    if (status_) {
      status_ =
          file_.append({reinterpret_cast<const std::uint8_t*>(buffer_.data()), buffer_.size()});
    }
    buffer_.clear();
  }

  session::TempFile file_;
  std::string buffer_;
  std::size_t values_ = 0;
  Status status_;
};

// The same value for every row of a table.
std::string repeated(std::string_view value, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i)
    fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "" : ",", value);
  return out;
}

std::string joined(const std::vector<std::string>& values) {
  std::string out;
  for (const std::string& value : values) out += (out.empty() ? "" : ",") + value;
  return out;
}

std::string milliseconds(std::uint64_t nanoseconds) {
  return fmt::format("{}.{:06}", nanoseconds / 1'000'000, nanoseconds % 1'000'000);
}

// A thread while it is gathered.
struct Thread {
  session::Context who;
  FrameNumbers frames;
  std::vector<std::string> names;  // by frame
  std::vector<std::string> files;
  // The stack behind each pair of the one below it (its number + 1) and a frame.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> stacks;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> table;
  std::vector<std::uint32_t> open;
  std::uint64_t at = 0;
  std::uint64_t first = 0;
  Column stack, time, weight;
};

class Firefox final : public TimelineWriter {
 public:
  Firefox(const session::Session& session, const TimelineOptions& options, view::Output& out)
      : session_(session), options_(options), out_(out) {
    const session::Facts* facts = session.facts();
    if (by_time() && facts != nullptr) base_ = facts->first_time;
    const std::uint64_t start = facts == nullptr ? 0 : facts->wall_clock;
    out_.write(fmt::format(
        "{{\"meta\":{{\"interval\":1,\"startTime\":{},\"processType\":0,\"product\":\"hodo\","
        "\"importedFrom\":\"hodo {}\",\"stackwalk\":1,\"version\":29,"
        "\"preprocessedProfileVersion\":48,\"symbolicated\":true,\"markerSchema\":[],"
        "\"extensions\":{{\"id\":[],\"name\":[],\"baseURL\":[],\"length\":0}},"
        "\"categories\":[{{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}}]}},"
        "\n\"libs\":[],\"pages\":[],\"counters\":[],\"profilerOverhead\":[],\n\"threads\":[",
        milliseconds(start), options.version));
  }

  bool thread(const session::Context& who) override {
    end_thread();
    state_ = std::make_unique<Thread>();
    state_->who = who;
    return out_.ok() && status_.has_value();
  }

  bool open(std::uint32_t number, const analyze::Function& function, std::uint64_t at) override {
    sample(at);
    std::uint32_t frame = 0;
    if (state_->frames.add(number, frame)) {
      state_->names.push_back(json_string(function.name));
      state_->files.push_back(std::string(file_name(function.object)));
    }
    state_->open.push_back(stack_of(frame));
    return out_.ok();
  }

  bool close(std::uint32_t, std::uint64_t at) override {
    sample(at);
    state_->open.pop_back();
    return out_.ok();
  }

  Status finish() override {
    end_thread();
    out_.write("]}\n");
    return status_;
  }

 private:
  bool by_time() const { return options_.axis == analyze::SliceAxis::time; }

  // What is open has lasted from the last change to now.
  void sample(std::uint64_t at) {
    Thread& t = *state_;
    if (t.stack.values() == 0 && t.open.empty()) t.first = at;
    const std::uint64_t lasted = at - t.at;
    if (!t.open.empty() && lasted != 0) {
      t.stack.add(std::to_string(t.open.back()));
      t.time.add(milliseconds(t.at - std::min(t.at, base_)));
      t.weight.add(by_time() ? milliseconds(lasted) : std::to_string(lasted));
    }
    t.at = at;
  }

  std::uint32_t stack_of(std::uint32_t frame) {
    Thread& t = *state_;
    const std::uint32_t below = t.open.empty() ? 0 : t.open.back() + 1;
    const auto known = t.stacks.find({below, frame});
    if (known != t.stacks.end()) return known->second;
    // Too many: it counts for what called it.
    if (t.table.size() >= kMostStacks && below != 0) return below - 1;
    const auto number = static_cast<std::uint32_t>(t.table.size());
    t.stacks[{below, frame}] = number;
    t.table.emplace_back(below, frame);
    return number;
  }

  void end_thread() {
    if (!state_) return;
    out_.write(written_++ == 0 ? "\n" : ",\n");
    write_head();
    write_samples();
    write_tables();
    state_.reset();
  }

  void write_head() {
    const Thread& t = *state_;
    const std::int32_t pid = t.who.pid < 0 ? 0 : t.who.pid;
    const std::int32_t tid = t.who.tid < 0 ? static_cast<std::int32_t>(t.who.queue) : t.who.tid;
    out_.write(fmt::format(
        "{{\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,"
        "\"registerTime\":{},\"unregisterTime\":null,\"pausedRanges\":[],\"name\":{},"
        "\"isMainThread\":{},\"pid\":\"{}\",\"tid\":{},\n\"markers\":{{\"data\":[],\"name\":[],"
        "\"startTime\":[],\"endTime\":[],\"phase\":[],\"category\":[],\"length\":0}}",
        milliseconds(t.first - std::min(t.first, base_)),
        json_string(thread_title(session_, t.who)), pid == tid, pid, tid));
  }

  void write_samples() {
    Thread& t = *state_;
    out_.write(fmt::format(",\n\"samples\":{{\"weightType\":\"{}\",\"length\":{}",
                           by_time() ? "tracing-ms" : "samples", t.stack.values()));
    for (const auto& [name, column] :
         {std::pair("stack", &t.stack), {"time", &t.time}, {"weight", &t.weight}}) {
      out_.write(fmt::format(",\n\"{}\":[", name));
      if (Status copied = column->copy(out_); !copied && status_) status_ = copied;
      out_.write("]");
    }
    out_.write("}");
  }

  void write_tables() {
    const Thread& t = *state_;
    const std::size_t frames = t.names.size();
    std::string stack_frames;
    std::string prefixes;
    for (const auto& [below, frame] : t.table) {
      const char* comma = stack_frames.empty() ? "" : ",";
      fmt::format_to(std::back_inserter(stack_frames), "{}{}", comma, frame);
      prefixes += comma + (below == 0 ? "null" : std::to_string(below - 1));
    }
    const std::string zeros = repeated("0", t.table.size());
    out_.write(
        fmt::format(",\n\"stackTable\":{{\"frame\":[{}],\"prefix\":[{}],\"category\":[{}],"
                    "\"subcategory\":[{}],\"length\":{}}}",
                    stack_frames, prefixes, zeros, zeros, t.table.size()));
    std::string numbers;
    for (std::size_t i = 0; i < frames; ++i) numbers += (i == 0 ? "" : ",") + std::to_string(i);
    const std::string none = repeated("null", frames);
    const std::string nothing = repeated("0", frames);
    out_.write(fmt::format(
        ",\n\"frameTable\":{{\"address\":[{}],\"inlineDepth\":[{}],\"category\":[{}],"
        "\"subcategory\":[{}],\"func\":[{}],\"nativeSymbol\":[{}],\"innerWindowID\":[{}],"
        "\"implementation\":[{}],\"line\":[{}],\"column\":[{}],\"length\":{}}}",
        repeated("-1", frames), nothing, nothing, nothing, numbers, none, nothing, none, none, none,
        frames));
    write_functions(numbers, none);
  }

  // The files are resources of the kind "library" (1) that are in no list of libraries.
  void write_functions(const std::string& numbers, const std::string& none) {
    const Thread& t = *state_;
    const std::size_t frames = t.names.size();
    std::map<std::string, std::size_t> resources;
    std::vector<std::string> strings = t.names;
    std::vector<std::string> resource_names;
    std::string of_function;
    for (std::size_t i = 0; i < frames; ++i) {
      auto [it, fresh] = resources.try_emplace(t.files[i], resources.size());
      if (fresh) {
        resource_names.push_back(std::to_string(strings.size()));
        strings.push_back(json_string(t.files[i]));
      }
      of_function += (i == 0 ? "" : ",") + std::to_string(it->second);
    }
    const std::string no = repeated("false", frames);
    out_.write(fmt::format(
        ",\n\"funcTable\":{{\"isJS\":[{}],\"relevantForJS\":[{}],\"name\":[{}],\"resource\":[{}],"
        "\"fileName\":[{}],\"lineNumber\":[{}],\"columnNumber\":[{}],\"length\":{}}}",
        no, no, numbers, of_function, none, none, none, frames));
    const std::size_t count = resource_names.size();
    const std::string no_resource = repeated("null", count);
    out_.write(fmt::format(
        ",\n\"resourceTable\":{{\"lib\":[{}],\"name\":[{}],\"host\":[{}],\"type\":[{}],"
        "\"length\":{}}},\n\"nativeSymbols\":{{\"libIndex\":[],\"address\":[],\"name\":[],"
        "\"functionSize\":[],\"length\":0}},\n\"stringArray\":[{}]}}",
        no_resource, joined(resource_names), no_resource, repeated("1", count), count,
        joined(strings)));
  }

  const session::Session& session_;
  TimelineOptions options_;
  view::Output& out_;
  std::uint64_t base_ = 0;  // the axis begins here
  std::unique_ptr<Thread> state_;
  std::size_t written_ = 0;
  Status status_;
};

}  // namespace

std::unique_ptr<TimelineWriter> firefox(const session::Session& session,
                                        const TimelineOptions& options, view::Output& out) {
  return std::make_unique<Firefox>(session, options, out);
}

}  // namespace hodo::exports
