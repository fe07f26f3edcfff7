#include "summary.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>

namespace hodo::capture {
namespace {

using Json = nlohmann::ordered_json;

Json end_json(const ProcessEnd& end) {
  Json out{{"pid", end.pid}, {"comm", end.name}, {"command", end.command}};
  if (end.time != 0) out["time"] = end.time;
  if (end.exit_status >= 0) out["exit_status"] = end.exit_status;
  if (end.signal != 0) out["signal"] = end.signal;
  if (end.tid != 0) out["tid"] = end.tid;
  if (end.ip) out["ip"] = fmt::format("0x{:x}", *end.ip);
  if (end.fault) {
    out["fault"] = {{"access", end.fault->access},
                    {"address", fmt::format("0x{:x}", end.fault->address)},
                    {"mapped", end.fault->mapped}};
  }
  return out;
}

}  // namespace

void add_command_end(std::vector<ProcessEnd>& ends, std::int32_t pid, const std::string& name,
                     int wait_status) {
  // Its number may have been another's before.
  const auto known = std::find_if(ends.rbegin(), ends.rend(),
                                  [pid](const ProcessEnd& end) { return end.pid == pid; });
  ProcessEnd& end = known != ends.rend() ? *known : ends.emplace_back();
  end.pid = pid;
  end.command = true;
  if (end.name.empty()) end.name = name;
  const int signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
  if (signal != end.signal) end.tid = 0, end.ip.reset(), end.fault.reset();
  end.signal = signal;
  end.exit_status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
}

void describe_trust_and_ends(Json& summary, const RecordResult& result) {
  if (!result.unrecorded.empty()) summary["unrecorded"] = result.unrecorded;
  for (const OverwrittenChannel& one : result.overwritten) {
    summary["overwritten"].push_back({{"pid", one.pid},
                                      {"tid", one.tid},
                                      {"offset", one.offset},
                                      {"time", one.time},
                                      {"what", one.what}});
  }
  for (const ProcessEnd& end : result.ends) summary["ended"].push_back(end_json(end));
  for (const ProcessEnd& end : result.thread_ends) {
    summary["ended_threads"].push_back(
        {{"pid", end.pid}, {"tid", end.tid}, {"signal", end.signal}});
  }
}

std::string summary_line(const Json& summary) {
  return summary.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace hodo::capture
