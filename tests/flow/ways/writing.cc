#include <cstring>
#include <memory>
#include <string_view>

#include "each_way.h"

namespace hodo::flow::ways {
namespace {

// Branches as they lie in memory, without their instructions: of what came before a writer may not
// know.
class Raw final : public BranchWriter {
 public:
  void write(std::span<const Branch> batch, std::string& out) override {
    for (Branch branch : batch) {
      branch.insns = 0;
      out.append(reinterpret_cast<const char*>(&branch), sizeof branch);
    }
  }
};

// Has branches written up to the first event of paging: what was written then is of who executed
// before.
struct Writing final : Told {
  bool paged = false;
  std::string wrong;

  bool writes() const override { return !paged; }
  std::unique_ptr<BranchWriter> writer() const override { return std::make_unique<Raw>(); }
  void on_branches(std::span<const Branch> batch) override {
    for (Branch branch : batch) {
      branch.insns = 0;
      branches.push_back(branch);
    }
  }
  void on_written(std::string_view text) override {
    if (paged) wrong = "written by who did not know of an event";
    if (text.empty() || text.size() % sizeof(Branch) != 0) wrong = "half a branch";
    const std::size_t begin = branches.size();
    branches.resize(begin + text.size() / sizeof(Branch));
    std::memcpy(branches.data() + begin, text.data(), (branches.size() - begin) * sizeof(Branch));
  }
  void on_event(const Event& event) override {
    Told::on_event(event);
    paged = paged || event.kind == EventKind::paging;
  }
};

}  // namespace

std::string writing_differs(PieceSource& stream, Decoder& decoder, const Told& expected) {
  Told plain = expected;
  for (Branch& branch : plain.branches) branch.insns = 0;
  Writing told;
  told.stats = decoder.decode(stream, told);
  const std::string found = told.wrong.empty() ? difference(told, plain) : told.wrong;
  return found.empty() ? "" : "written: " + found;
}

}  // namespace hodo::flow::ways
