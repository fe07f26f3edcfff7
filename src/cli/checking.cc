#include "checking.h"

#include "command.h"

namespace hodo::cli {

int status_of(const view::Checked& checked, bool allow_incomplete) {
  bool doubtful = false;
  for (const check::Finding& finding : checked.findings) {
    if (serve::is_explained(finding)) continue;
    if (!finding.is_doubtful()) return kExitFindings;
    doubtful = true;
  }
  if (doubtful) return kExitIncomplete;
  return checked.complete() || allow_incomplete ? kExitOk : kExitIncomplete;
}

}  // namespace hodo::cli
