#include <fmt/format.h>

#include <iterator>
#include <set>

#include "hodo/view/task_name.h"
#include "timeline_text.h"
#include "writers.h"

namespace hodo::exports {
namespace {

class Perfetto final : public TimelineWriter {
 public:
  Perfetto(const session::Session& session, const TimelineOptions& options, view::Output& out)
      : session_(session), options_(options), out_(out) {
    out_.write(fmt::format(
        "{{\"otherData\":{{\"exporter\":\"hodo {}\",\"file\":{},\"axis\":\"{}\"}},"
        "\"displayTimeUnit\":\"ns\",\n\"traceEvents\":[",
        options.version, json_string(session.path()), by_time() ? "time" : "instructions"));
  }

  bool thread(const session::Context& who) override {
    // There are no negative ones in the format.
    pid_ = who.pid < 0 ? 0 : who.pid;
    tid_ = who.tid < 0 ? static_cast<std::int32_t>(who.queue) : who.tid;
    const std::string name = view::task_name(session_, who.pid, who.pid);
    if (named_.insert(pid_).second && !name.empty()) tell_name("process_name", name);
    tell_name("thread_name", thread_title(session_, who));
    return out_.ok();
  }

  bool open(std::uint32_t number, const analyze::Function& function, std::uint64_t at) override {
    std::uint32_t frame = 0;
    if (frames_.add(number, frame)) {
      names_.push_back(fmt::format("\"name\":{},\"cat\":{}", json_string(function.name),
                                   json_string(file_name(function.object))));
    }
    event('B', at, "," + names_[frame]);
    return out_.ok();
  }

  bool close(std::uint32_t, std::uint64_t at) override {
    event('E', at, "");
    return out_.ok();
  }

  Status finish() override {
    out_.write("\n]}\n");
    return {};
  }

 private:
  bool by_time() const { return options_.axis == analyze::SliceAxis::time; }

  void tell_name(std::string_view what, const std::string& name) {
    begin();
    fmt::format_to(
        std::back_inserter(out_.buffer()),
        "{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"{}\",\"args\":{{\"name\":{}}}}}", pid_,
        tid_, what, json_string(name));
  }
  void event(char phase, std::uint64_t at, std::string_view more) {
    begin();
    fmt::format_to(std::back_inserter(out_.buffer()),
                   "{{\"ph\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":", phase, pid_, tid_);
    if (by_time()) {
      fmt::format_to(std::back_inserter(out_.buffer()), "{}.{:03}", at / 1000, at % 1000);
    } else {
      fmt::format_to(std::back_inserter(out_.buffer()), "{}", at);
    }
    out_.buffer() += more;
    out_.buffer() += '}';
    out_.checkpoint();
  }
  void begin() {
    out_.buffer() += first_ ? "\n" : ",\n";
    first_ = false;
  }

  const session::Session& session_;
  TimelineOptions options_;
  view::Output& out_;
  std::int32_t pid_ = 0;
  std::int32_t tid_ = 0;
  std::set<std::int32_t> named_;
  FrameNumbers frames_;
  std::vector<std::string> names_;  // by frame
  bool first_ = true;
};

}  // namespace

std::unique_ptr<TimelineWriter> perfetto(const session::Session& session,
                                         const TimelineOptions& options, view::Output& out) {
  return std::make_unique<Perfetto>(session, options, out);
}

}  // namespace hodo::exports
