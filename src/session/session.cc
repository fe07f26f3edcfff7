#include "hodo/session/session.h"

#include <utility>

#include "pt/pt_session.h"
#include "raw/raw.h"
#include "raw/raw_records.h"
#include "records/bts_session.h"
#include "records/stack_session.h"
#include "stream/runs_from_branches.h"

namespace hodo::session {
namespace {

class Nobody final : public BranchSink {
 public:
  bool branches(const Context&, std::span<const Branch>) override { return true; }
};

}  // namespace

std::unexpected<Error> was_stopped() { return fail(ErrorCode::io, "stopped before the end"); }

Result<Outcome> Session::cover(const DecodeOptions& options, RunSink& sink) {
  DecodeOptions how = options;
  how.not_taken = true;
  RunsFromBranches runs(sink);
  auto outcome = decode(how, runs);
  runs.finish();
  return outcome;
}

Result<Outcome> Session::count(const DecodeOptions& options) {
  Nobody nobody;
  return decode(options, nobody);
}

Result<std::unique_ptr<Session>> Session::open(const Options& options) {
  if (options.raw && options.raw->kind == RawKind::pt) return Raw::open(options);
  if (options.raw) return RawRecords::open(options);
  auto file = OpenedFile::open(
      options.path, {.symfs = options.symfs, .sources = options.sources, .lines = options.lines});
  if (!file) return std::unexpected(file.error());
  switch (file->model.trace()) {
    case perfdata::TraceKind::intel_bts:
      return std::make_unique<BtsSession>(std::move(*file));
    case perfdata::TraceKind::branch_stacks:
      return std::make_unique<StackSession>(std::move(*file));
    case perfdata::TraceKind::intel_pt:
    case perfdata::TraceKind::none:
      return std::make_unique<PtSession>(std::move(*file));
  }
  std::unreachable();
}

Result<std::vector<LossLine>> Session::records(RecordSink&) const {
  return fail(ErrorCode::unsupported, "has no branch records");
}

}  // namespace hodo::session
