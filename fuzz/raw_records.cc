// Bare BTS records and dumps of LBR registers as input. Checks beside the sanitizers': a stack
// holds no more branches than registers were given, and only a record that is cut off is left over.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "raw/lbr_dump.h"
#include "records/bts_records.h"

namespace {

using namespace hodo;
using namespace hodo::session;

void require(bool condition) {
  if (!condition) std::abort();
}

Status order(const LbrDump& dump) {
  const auto stack = newest_first(dump);
  if (stack) require(stack->size() <= dump.from.size() + dump.to.size() + dump.msrs.size());
  return {};
}

class Nobody final : public BranchSink {
 public:
  bool branches(const Context&, std::span<const Branch>) override { return true; }
};

void read_bts(std::span<const std::uint8_t> bytes) {
  const auto layout = detect_layout(bytes);
  if (!layout) return;
  Nobody nobody;
  flow::Stats stats;
  LossTally losses;
  RecordPath path(
      nobody, stats, losses,
      [](const Context&, const flow::Loss&) { return std::optional<Explanation>(); }, true);
  path.enter({});
  BtsRecords records(*layout, path);
  const std::size_t half = bytes.size() / 2;
  records.add(bytes.first(half), 0);
  records.add(bytes.subspan(half), half);
  require(records.cut() == bytes.size() % hw::bts_record_bytes(*layout));
  path.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)parse_lbr_dump(text, order);
  (void)parse_lbr_json(text, order);
  read_bts({data, size});
  return 0;
}
