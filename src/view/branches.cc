#include "hodo/view/branches.h"

#include <algorithm>
#include <utility>

#include "branch_bin.h"
#include "branch_text.h"
#include "branch_values.h"

namespace hodo::view {
namespace {

// Of one thread that decodes.
class WriterOfThread final : public flow::BranchWriter {
 public:
  WriterOfThread(std::unique_ptr<view::BranchWriter> writer, const session::Context& context)
      : writer_(std::move(writer)), context_(context) {}
  void write(std::span<const Branch> batch, std::string& out) override {
    writer_->write(context_, batch, out);
  }

 private:
  std::unique_ptr<view::BranchWriter> writer_;
  session::Context context_;
};

}  // namespace

BranchList::BranchList(const BranchListOptions& options, Output& out, const session::Names* names)
    : options_(options), out_(out), names_(names), own_(make_writer()) {}
BranchList::~BranchList() = default;

std::unique_ptr<BranchWriter> BranchList::make_writer() const {
  switch (options_.format) {
    case BranchFormat::csv:
      return std::make_unique<CsvBranches>(options_);
    case BranchFormat::jsonl:
      return std::make_unique<JsonBranches>(options_);
    case BranchFormat::bin:
      return std::make_unique<BinBranches>(options_);
    case BranchFormat::text:
      break;
  }
  return std::make_unique<TextBranches>(options_, names_, asking_);
}

void BranchList::begin() { out_.write(own_->head()); }

// Right into the output's buffer, of which there is more than one write may take.
bool BranchList::branches(const session::Context& context, std::span<const Branch> batch) {
  constexpr std::size_t kAtOnce = 512;
  while (!batch.empty() && out_.ok()) {
    const auto some = batch.first(std::min(batch.size(), kAtOnce));
    own_->write(context, some, out_.buffer());
    out_.checkpoint();
    batch = batch.subspan(some.size());
  }
  return out_.ok();
}

std::unique_ptr<flow::BranchWriter> BranchList::writer(const session::Context& context) const {
  return std::make_unique<WriterOfThread>(make_writer(), context);
}

bool BranchList::written(std::string_view text) {
  out_.pass(text);
  return out_.ok();
}

}  // namespace hodo::view
