// hodo packets: every packet or record of the trace.
#include <unistd.h>

#include <memory>

#include "commands.h"
#include "hodo/session/session.h"
#include "hodo/view/packets.h"
#include "hodo/view/progress.h"
#include "hodo/view/stats.h"
#include "reading.h"

namespace hodo::cli {
namespace {

struct Options {
  ReadingOptions reading;
  bool counts = false;
};

const Manual kManual{
    .summary = "list every packet of the trace",
    .description =
        "Writes the Intel PT packets of each trace buffer as they lie there: offset, bytes, packet."
        " IPs are shown as sent and, behind 'ip', as the full address. Needs no code, so it also"
        " works where the traced files are gone.\n\n"
        "Of a file with BTS records it lists those, from and to as they were written.\n\n"
        "Of a file that has no PT trace but samples with branch stacks (perf record -b) it lists"
        " the stacks, newest branch first.\n\n"
        "With --json each packet is a JSON object on its own line: queue, offset, size, type, text,"
        " and ip and payload where they are not zero.",
    .examples = {{"hodo packets | less", "Look at the packets of the last recording."},
                 {"hodo packets --counts", "Only how many there are of each kind."},
                 {"hodo packets --raw pt trace.pt", "The packets of a bare stream."}},
    .exit_statuses = reading_exit_statuses()};

Result<session::Outcome> walk(const Options& options, session::Session& session,
                              session::PacketSink& sink) {
  view::Progress progress("reading");
  session::DecodeOptions how{
      .selection = selection_of(options.reading),
      .progress = [&](std::uint64_t done, std::uint64_t all) { progress.update(done, all); }};
  return session.packets(how, sink);
}

bool only_stacks(const session::Session& session) {
  const perfdata::Model* recording = session.recording();
  return recording != nullptr && recording->trace() == perfdata::TraceKind::none &&
         recording->branch_stacks() != 0;
}

Result<Shown> show_stacks(const Options& options, const session::Session& session) {
  view::Output out(STDOUT_FILENO);
  if (options.counts) {
    out.write(std::to_string(session.recording()->branch_stacks()) + " branch stacks\n");
  } else {
    view::list_branch_stacks(*session.recording(), options.reading.json, out);
  }
  if (Status status = out.finish(); !status) return std::unexpected(status.error());
  return Shown{.losses = session.input_losses(), .tell = true};
}

bool has_bts(const session::Session& session) {
  const perfdata::Model* recording = session.recording();
  return recording != nullptr && recording->trace() == perfdata::TraceKind::intel_bts;
}

Result<Shown> show_bts(const Options& options, const session::Session& session) {
  view::Output out(STDOUT_FILENO);
  const auto count = view::list_bts_records(*session.recording(), options.reading.json,
                                            options.counts ? nullptr : &out);
  if (!count) return std::unexpected(count.error());
  if (options.counts) out.write(std::to_string(*count) + " BTS records\n");
  if (Status status = out.finish(); !status) return std::unexpected(status.error());
  return Shown{.losses = session.input_losses(), .tell = true};
}

Result<Shown> show_packets(const Options& options, session::Session& session) {
  view::Output out(STDOUT_FILENO);
  view::Style style = view::style_for(STDOUT_FILENO, options.reading.color);
  auto list = options.counts ? view::make_packet_counter()
                             : view::make_packet_list(options.reading.json, out, style);
  auto outcome = walk(options, session, *list);
  if (!outcome) return std::unexpected(outcome.error());
  if (options.counts) out.write(view::packet_counts_text(outcome->stats, style));
  if (Status status = out.finish(); !status) return std::unexpected(status.error());
  return Shown{.losses = std::move(outcome->losses), .tell = true};
}

int run(const Options& options) {
  return with_session(options.reading, [&](session::Session& session) {
    if (has_bts(session)) return show_bts(options, session);
    return only_stacks(session) ? show_stacks(options, session) : show_packets(options, session);
  });
}

}  // namespace

void add_packets(Program& program) {
  auto options = std::make_shared<Options>();
  const OptionSet app = program.command("packets", kManual, [options] { return run(*options); });
  add_packet_input_options(app, options->reading);
  app.add_flag("--json", options->reading.json, "a JSON object per line");
  app.add_flag("--counts", options->counts,
               "only how many packets and bytes there are of each kind");
  add_selection_options(app, options->reading);
  add_color_option(app, options->reading);
}

}  // namespace hodo::cli
