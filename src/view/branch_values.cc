#include "branch_values.h"

#include <fmt/format.h>

namespace hodo::view {
namespace {

std::string csv_number(std::int32_t value) { return value < 0 ? "" : std::to_string(value); }

std::string json_flags(std::uint8_t flags) {
  if (flags == 0) return "";
  std::string out = R"(,"flags":[)";
  for (auto [bit, text] : kFlagNames) {
    if ((flags & bit) == 0) continue;
    out += fmt::format("{}\"{}\"", out.back() == '[' ? "" : ",", text);
  }
  return out + "]";
}

}  // namespace

CsvBranches::CsvBranches(const BranchListOptions& options) : BranchWriter(options) {
  for (unsigned f = 0; f < flag_texts_.size(); ++f) {
    flag_texts_[f] = "," + flag_names(static_cast<std::uint8_t>(f)) + "\n";
  }
}

std::string CsvBranches::head() const { return "time,cpu,pid,tid,cr3,from,to,kind,flags\n"; }

void CsvBranches::enter(const session::Context& c) {
  who_ = fmt::format(",{},{},{},{},", csv_number(c.cpu), csv_number(c.pid), csv_number(c.tid),
                     c.cr3 ? fmt::format("{:#x}", *c.cr3) : "");
}

void CsvBranches::write_one(const session::Context&, const Branch& branch, std::uint64_t time,
                            std::string& out) {
  Line line;
  if (time != 0) line.decimal(time);
  line.text(who_);
  if (branch.from != 0) line.hex(branch.from);
  line.put(',');
  if (branch.to != 0) line.hex(branch.to);
  line.put(',');
  line.text(name(branch.kind));
  line.text(flag_texts_[branch.flags % kFlagCombinations]);
  out += line.view();
}

JsonBranches::JsonBranches(const BranchListOptions& options) : BranchWriter(options) {
  for (unsigned f = 0; f < flag_texts_.size(); ++f) {
    flag_texts_[f] = json_flags(static_cast<std::uint8_t>(f)) + "}\n";
  }
}

void JsonBranches::enter(const session::Context& c) {
  who_.clear();
  auto add = [&](std::string_view key, std::int32_t value) {
    if (value >= 0) who_ += fmt::format("\"{}\":{},", key, value);
  };
  add("cpu", c.cpu);
  add("pid", c.pid);
  add("tid", c.tid);
  if (c.cr3) who_ += fmt::format("\"cr3\":\"{:#x}\",", *c.cr3);
}

void JsonBranches::write_one(const session::Context&, const Branch& branch, std::uint64_t time,
                             std::string& out) {
  Line line;
  line.put('{');
  if (time != 0) {
    line.text("\"time\":");
    line.decimal(time);
    line.put(',');
  }
  line.text(who_);
  auto address = [&](std::string_view key, std::uint64_t value) {
    if (value == 0) return;
    line.text(key);
    line.hex(value);
    line.text("\",");
  };
  address("\"from\":\"", branch.from);
  address("\"to\":\"", branch.to);
  line.text("\"kind\":\"");
  line.text(name(branch.kind));
  line.put('"');
  if (branch.cycles != 0) {
    line.text(",\"cycles\":");
    line.decimal(branch.cycles);
  }
  line.text(flag_texts_[branch.flags % kFlagCombinations]);
  out += line.view();
}

}  // namespace hodo::view
