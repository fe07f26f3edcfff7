#include "hodo/view/branches.h"

#include "branch_bin.h"
#include "branch_text.h"
#include "branch_values.h"

namespace hodo::view {

std::unique_ptr<BranchList> make_branch_list(const BranchListOptions& options, Output& out,
                                             const session::Names* names) {
  switch (options.format) {
    case BranchFormat::csv:
      return std::make_unique<CsvBranches>(options, out);
    case BranchFormat::jsonl:
      return std::make_unique<JsonBranches>(options, out);
    case BranchFormat::bin:
      return std::make_unique<BinBranches>(options, out);
    case BranchFormat::text:
      break;
  }
  return std::make_unique<TextBranches>(options, out, names);
}

}  // namespace hodo::view
