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

struct PacketsOptions {
  ReadingOptions reading;
  bool counts = false;
};

const Manual kPacketsManual{
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

Result<session::Outcome> walk(const PacketsOptions& options, session::Session& session,
                              session::PacketSink& sink) {
  view::Progress progress("reading");
  session::DecodeOptions how{
      .selection = selection_of(options.reading),
      .progress = [&](std::uint64_t done, std::uint64_t all) { progress.update(done, all); }};
  return session.packets(how, sink);
}

class CountRecords final : public session::RecordSink {
 public:
  bool record(std::uint64_t, const hw::BtsRecord&) override {
    ++records;
    return true;
  }

  std::uint64_t records = 0;
};

// Of a recording: those without a file around them are only decoded.
bool has_records(const session::Session& session) {
  const session::TraceKind kind = session.trace();
  return session.facts() != nullptr &&
         (kind == session::TraceKind::bts || kind == session::TraceKind::stacks);
}

Result<std::vector<session::LossLine>> count_records(const session::Session& session,
                                                     view::Output& out) {
  if (session.trace() == session::TraceKind::stacks) {
    out.write(std::to_string(session.facts()->stacks) + " branch stacks\n");
    return session.input_losses();
  }
  CountRecords count;
  auto losses = session.records(count);
  if (losses) out.write(std::to_string(count.records) + " BTS records\n");
  return losses;
}

Result<Shown> show_records(const PacketsOptions& options, const session::Session& session) {
  view::Output out(STDOUT_FILENO);
  auto losses = options.counts
                    ? count_records(session, out)
                    : session.records(*view::make_record_list(options.reading.json, out));
  if (!losses) return std::unexpected(losses.error());
  if (Status status = out.finish(); !status) return std::unexpected(status.error());
  return Shown{.losses = std::move(*losses), .tell = true};
}

Result<Shown> show_packets(const PacketsOptions& options, session::Session& session) {
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

int run(const PacketsOptions& options) {
  return with_session(options.reading, [&](session::Session& session) {
    return has_records(session) ? show_records(options, session) : show_packets(options, session);
  });
}

}  // namespace

void add_packets(Program& program) {
  auto options = std::make_shared<PacketsOptions>();
  const OptionSet app =
      program.command("packets", kPacketsManual, [options] { return run(*options); });
  add_packet_input_options(app, options->reading);
  app.add_flag("--json", options->reading.json, "a JSON object per line");
  app.add_flag("--counts", options->counts,
               "only how many packets and bytes there are of each kind");
  add_selection_options(app, options->reading);
  add_color_option(app, options->reading);
}

}  // namespace hodo::cli
