#include "record_session.h"

#include <algorithm>

namespace hodo::session {
namespace {

// A process's own code and the kernel's.
class ProcessCode final : public image::CodeSource {
 public:
  // `user` may be null; both outlive this.
  ProcessCode(const image::CodeSource* user, const image::CodeSource& kernel)
      : user_(user), kernel_(kernel) {}

  image::CodeSpan find(std::uint64_t address, std::uint64_t time) const override {
    if (address >> 63 != 0) return kernel_.find(address, time);
    return user_ == nullptr ? image::CodeSpan{} : user_->find(address, time);
  }

 private:
  const image::CodeSource* user_;
  const image::CodeSource& kernel_;
};

}  // namespace

Result<Outcome> RecordSession::packets(const DecodeOptions&, PacketSink&) {
  return fail(ErrorCode::unsupported,
              "has branch records, which are no packets; 'hodo branches' lists them");
}

const image::CodeSource* RecordSession::code_of(std::uint32_t space) {
  auto& code = codes_[space];
  if (!code) code = std::make_unique<ProcessCode>(spaces().user(space), spaces().kernel());
  return code.get();
}

Executing RecordSession::executing(std::uint32_t queue, std::int32_t pid, std::int32_t tid,
                                   std::int32_t cpu, std::uint64_t time) {
  Executing out;
  out.who = {.queue = queue, .space = kNoSpace, .pid = pid, .tid = tid, .cpu = cpu};
  if (const perfdata::Process* life = model().process_at(pid, time); life != nullptr) {
    out.who.space = static_cast<std::uint32_t>(life - model().processes().data());
    if (time < life->end) out.until = life->end;
  }
  out.code = code_of(out.who.space);
  out.mode = mode(out.who.space, time);
  out.until = std::min(out.until, next_mode(out.who.space, time));
  return out;
}

ExplainFunction RecordSession::explain() {
  return [this](const Context& who, const flow::Loss& loss) { return explain_missing(who, loss); };
}

LossTally RecordSession::known_losses() const {
  LossTally tally;
  for (LossLine& line : input_losses()) tally.take(std::move(line));
  return tally;
}

Unrecorded RecordSession::unrecorded(const perf_event_attr& attr) const {
  return attr.exclude_kernel != 0 ? Unrecorded::system_calls : Unrecorded::nothing;
}

}  // namespace hodo::session
