#include <fmt/format.h>

#include <iterator>

#include "timeline_text.h"
#include "writers.h"

namespace hodo::exports {
namespace {

class Speedscope final : public TimelineWriter {
 public:
  Speedscope(const session::Session& session, const TimelineOptions& options, view::Output& out)
      : session_(session), options_(options), out_(out) {
    out_.write(
        fmt::format("{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                    "\"exporter\":\"hodo {}\",\"name\":{},\n\"profiles\":[",
                    options.version, json_string(session.path())));
  }

  bool thread(const session::Context& who) override {
    end_profile();
    out_.write(fmt::format("{}\n{{\"type\":\"evented\",\"name\":{},\"unit\":\"{}\",\"events\":[",
                           profiles_++ == 0 ? "" : ",", json_string(thread_title(session_, who)),
                           options_.axis == analyze::SliceAxis::time ? "nanoseconds" : "none"));
    started_ = false;
    return out_.ok();
  }

  bool open(std::uint32_t number, const analyze::Function& function, std::uint64_t at) override {
    std::uint32_t frame = 0;
    if (frames_.add(number, frame)) {
      table_.push_back(fmt::format("{{\"name\":{},\"file\":{}}}", json_string(function.name),
                                   json_string(function.object)));
    }
    return event('O', frame, at);
  }

  bool close(std::uint32_t number, std::uint64_t at) override {
    return event('C', frames_.of(number), at);
  }

  Status finish() override {
    end_profile();
    out_.write("],\n\"shared\":{\"frames\":[");
    for (std::size_t i = 0; i < table_.size(); ++i) {
      out_.write((i == 0 ? "\n" : ",\n") + table_[i]);
    }
    out_.write("]}}\n");
    return {};
  }

 private:
  bool event(char type, std::uint32_t frame, std::uint64_t at) {
    if (!started_) first_ = at;
    fmt::format_to(std::back_inserter(out_.buffer()),
                   "{}\n{{\"type\":\"{}\",\"frame\":{},\"at\":{}}}", started_ ? "," : "", type,
                   frame, at);
    started_ = true;
    last_ = at;
    out_.checkpoint();
    return out_.ok();
  }
  void end_profile() {
    if (profiles_ == 0) return;
    if (!started_) first_ = last_ = 0;
    out_.write(fmt::format("],\"startValue\":{},\"endValue\":{}}}", first_, last_));
  }

  const session::Session& session_;
  TimelineOptions options_;
  view::Output& out_;
  FrameNumbers frames_;
  std::vector<std::string> table_;  // by frame
  std::size_t profiles_ = 0;
  bool started_ = false;
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace

std::unique_ptr<TimelineWriter> speedscope(const session::Session& session,
                                           const TimelineOptions& options, view::Output& out) {
  return std::make_unique<Speedscope>(session, options, out);
}

}  // namespace hodo::exports
