#include "show_report.h"

#include <nlohmann/json.hpp>

#include "hodo/analyze/profile.h"
#include "hodo/session/session.h"
#include "hodo/view/losses.h"
#include "hodo/view/output.h"
#include "hodo/view/progress.h"
#include "hodo/view/report.h"

namespace hodo::cli {
namespace {

Result<session::Outcome> decode(session::Session& session, const ReportOptions& options,
                                view::Progress& progress, analyze::Profile& profile) {
  const Asking asking = asking_of(session, options.reading, progress, options.window.has_moments());
  auto window = serve::window_of(session, options.window, asking.how);
  if (!window) return std::unexpected(window.error());
  session::DecodeOptions how{.selection = selection_of(options.reading),
                             .progress = told_to(progress)};
  if (window->everything()) return session.cover(how, profile);
  how.not_taken = true;
  const auto runs = ask::as_runs(profile);
  return ask::decode_window(session, *window,
                            {.walk = how, .mark_gaps = true, .index = asking.how.index}, *runs);
}

}  // namespace

int show_report(const ReportOptions& options) {
  return with_session(options.reading, [&](session::Session& session) -> Result<Shown> {
    view::Progress progress("decoding");
    analyze::Profile profile(session.names());
    auto outcome = decode(session, options, progress, profile);
    progress.clear();
    if (!outcome) return std::unexpected(outcome.error());
    view::Report report =
        view::make_report(session, *outcome, profile, options.top, options.reading.source);
    view::Style style = view::style_for(options.output, options.reading.color);
    view::Output out(options.output);
    out.write(options.reading.json
                  ? view::json_text(view::report_json(report, session, *outcome, options.top))
                  : view::report_text(report, session, *outcome, options.top, style));
    if (Status status = out.finish(); !status) return std::unexpected(status.error());
    return Shown{.losses = std::move(outcome->losses)};
  });
}

}  // namespace hodo::cli
