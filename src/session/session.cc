#include "hodo/session/session.h"

#include "raw/raw.h"
#include "raw/raw_records.h"
#include "recording.h"
#include "records/as_runs.h"
#include "records/bts_session.h"
#include "records/stack_session.h"

namespace hodo::session {
namespace {

class Nobody final : public BranchSink {
 public:
  bool branches(const Context&, std::span<const Branch>) override { return true; }
};

}  // namespace

Result<Outcome> Session::cover(const DecodeOptions& options, RunSink& sink) {
  DecodeOptions how = options;
  how.not_taken = true;
  AsRuns runs(sink);
  return decode(how, runs);
}

Result<Outcome> Session::count(const DecodeOptions& options) {
  Nobody nobody;
  return decode(options, nobody);
}

Result<std::unique_ptr<Session>> Session::open(const Options& options) {
  if (options.raw && options.raw->kind == RawKind::pt) return Raw::open(options);
  if (options.raw) return RawRecords::open(options);
  auto file = Recording::open(options.path, options.symfs);
  if (!file) return std::unexpected(file.error());
  const perfdata::Model& model = (*file)->model();
  if (model.trace() == perfdata::TraceKind::intel_bts) {
    return std::make_unique<BtsSession>(std::move(*file));
  }
  if (model.trace() == perfdata::TraceKind::none && model.branch_stacks() != 0) {
    return std::make_unique<StackSession>(std::move(*file));
  }
  return std::move(*file);
}

}  // namespace hodo::session
