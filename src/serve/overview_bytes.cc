// An overview as bytes: numbers of seven bits to a byte, places as differences to those before.
#include <algorithm>

#include "hodo/base/numbers.h"
#include "overview.h"

namespace hodo::serve {
namespace {

constexpr std::uint64_t kVersion = 4;
// Numbers of a slice and of a node, a byte each at least.
constexpr std::size_t kSliceBytes = 8, kNodeBytes = 6;

// Signed numbers of threads and processes, -1 or not.
std::uint64_t shifted(std::int32_t value) {
  return static_cast<std::uint64_t>(std::int64_t{value} + 1);
}
std::int32_t unshifted(std::uint64_t value) {
  return static_cast<std::int32_t>(static_cast<std::int64_t>(value) - 1);
}
constexpr std::uint64_t kMostShifted = std::uint64_t{1} << 31;

void write_row(const std::vector<Slice>& row, NumberWriter& out) {
  out.number(row.size());
  Place at;
  std::uint64_t branch = 0;
  for (const Slice& slice : row) {
    out.number(slice.from.time - at.time);
    out.number(slice.to.time - slice.from.time);
    out.number(slice.from.instructions - at.instructions);
    out.number(slice.to.instructions - slice.from.instructions);
    out.number(slice.branch - branch);
    out.number(static_cast<std::uint32_t>(slice.name + 1));
    out.number(slice.count);
    out.number(slice.open ? 1 : 0);
    at = slice.to;
    branch = slice.branch;
  }
}

std::vector<Slice> read_row(NumberReader& in, std::uint64_t names) {
  std::vector<Slice> out;
  Place at;
  std::uint64_t branch = 0;
  std::size_t left = in.count(kSliceBytes);
  out.reserve(left);
  for (; left != 0 && in.good(); --left) {
    Slice slice;
    slice.from.time = in.behind(at.time);
    slice.to.time = in.behind(slice.from.time);
    slice.from.instructions = in.behind(at.instructions);
    slice.to.instructions = in.behind(slice.from.instructions);
    branch = slice.branch = in.behind(branch);
    slice.name = static_cast<std::uint32_t>(in.number(names)) - 1;
    slice.count = static_cast<std::uint32_t>(in.number(~std::uint32_t{0}));
    slice.open = in.number(1) != 0;
    at = slice.to;
    out.push_back(slice);
  }
  return out;
}

void write_nodes(const std::vector<StackNode>& nodes, NumberWriter& out) {
  out.number(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const StackNode& node = nodes[i];
    out.number(node.name);
    out.number(i - node.parent);
    out.number(node.calls);
    out.number(node.instructions);
    out.number(node.time);
    out.number(node.first);
  }
}

std::vector<StackNode> read_nodes(NumberReader& in, std::uint64_t names) {
  std::vector<StackNode> out;
  const std::size_t count = in.count(kNodeBytes);
  out.reserve(count);
  if (count == 0 || (count > 1 && names == 0)) in.refuse();
  for (std::size_t i = 0; i < count && in.good(); ++i) {
    StackNode node;
    node.name = static_cast<std::uint32_t>(in.number(i == 0 ? 0 : names - 1));
    // A parent comes before its children; the first is its own.
    const std::uint64_t back = in.number(i);
    node.parent = static_cast<std::uint32_t>(i - (back == 0 && i != 0 ? 1 : back));
    node.calls = in.number();
    node.instructions = in.number();
    node.time = in.number();
    node.first = in.number();
    out.push_back(node);
  }
  if (out.empty()) out.emplace_back();
  return out;
}

void write_lane(const Lane& lane, NumberWriter& out) {
  const ThreadTotal& total = lane.total;
  out.number(shifted(total.thread.tid));
  out.number(total.thread.queue);
  out.number(shifted(total.pid));
  for (const std::uint64_t value :
       {total.branches, total.instructions, total.first_time, total.last_time, lane.deeper,
        lane.more_marks, lane.other_instructions, lane.other_time}) {
    out.number(value);
  }
  write_nodes(lane.nodes, out);
  out.number(lane.rows.size());
  for (const auto& row : lane.rows) write_row(row, out);
  out.number(lane.marks.size());
  for (const Mark& mark : lane.marks) {
    out.number(static_cast<std::uint64_t>(mark.kind));
    out.number(mark.at.time);
    out.number(mark.at.instructions);
    out.number(mark.branch);
  }
}

Lane read_lane(NumberReader& in, std::uint64_t names) {
  Lane out;
  ThreadTotal& total = out.total;
  total.thread.tid = unshifted(in.number(kMostShifted));
  total.thread.queue = static_cast<std::uint32_t>(in.number(~std::uint32_t{0}));
  total.pid = unshifted(in.number(kMostShifted));
  for (std::uint64_t* const value :
       {&total.branches, &total.instructions, &total.first_time, &total.last_time, &out.deeper,
        &out.more_marks, &out.other_instructions, &out.other_time}) {
    *value = in.number();
  }
  out.nodes = read_nodes(in, names);
  const auto rows = static_cast<std::size_t>(in.number(Overview::kMostRows));
  for (std::size_t i = 0; i < rows && in.good(); ++i) out.rows.push_back(read_row(in, names));
  const auto marks = static_cast<std::size_t>(in.number(Overview::kMostMarks));
  for (std::size_t i = 0; i < marks && in.good(); ++i) {
    Mark mark;
    mark.kind = static_cast<MarkKind>(in.number(static_cast<std::uint64_t>(MarkKind::sample)));
    mark.at.time = in.number();
    mark.at.instructions = in.number();
    mark.branch = in.number();
    out.marks.push_back(mark);
  }
  return out;
}

}  // namespace

std::vector<std::uint8_t> write_overview(const Overview& overview) {
  NumberWriter out;
  out.number(kVersion);
  out.number(overview.grain.time);
  out.number(overview.grain.instructions);
  out.number(overview.names.size());
  for (const SliceName& name : overview.names) {
    out.text(name.name);
    out.text(name.object);
  }
  out.number(overview.lanes.size());
  for (const Lane& lane : overview.lanes) write_lane(lane, out);
  return out.take();
}

std::optional<Overview> read_overview(std::span<const std::uint8_t> bytes) {
  NumberReader in(bytes);
  Overview out;
  if (in.number() != kVersion) return std::nullopt;
  out.grain.time = in.number();
  out.grain.instructions = in.number();
  for (std::size_t left = in.count(); left != 0 && in.good(); --left) {
    std::string name = in.text();
    out.names.push_back({std::move(name), in.text()});
  }
  for (std::size_t left = in.count(); left != 0 && in.good(); --left) {
    out.lanes.push_back(read_lane(in, out.names.size()));
  }
  if (!in.good() || !in.at_end()) return std::nullopt;
  return out;
}

}  // namespace hodo::serve
