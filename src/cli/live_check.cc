#include "live_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "checking.h"
#include "command.h"
#include "hodo/capture/group_signals.h"
#include "hodo/session/growing.h"
#include "hodo/view/output.h"
#include "hodo/view/style.h"
#include "hodo/view/text.h"

namespace hodo::cli {
namespace {

// How long what was written may lie: with the recorder's own delay it is less than a second.
constexpr int kRoundMs = 100;

// Which file lies at a path, to know it from the one that will.
struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const Identity&) const = default;
};

std::optional<Identity> recording_at(const std::string& path) {
  struct stat st{};
  // The recorder keeps a file that holds something under another name, and overwrites an empty one.
  if (::stat(path.c_str(), &st) != 0 || st.st_size == 0) return std::nullopt;
  return Identity{st.st_dev, st.st_ino};
}

class Follower {
 public:
  Follower(std::string path, OnFinding what, const check::Suppressions& suppressions,
           std::optional<Identity> old, int complete, int end)
      : path_(std::move(path)),
        what_(what),
        suppressions_(suppressions),
        old_(old),
        complete_(complete),
        end_(end) {}

  // The verdict.
  int run() {
    while (!over_) {
      over_ = wait();
      if (!growing_ && !begin()) continue;
      if (Status status = round(); !status) return give_up(status.error());
    }
    if (!growing_) return judge_whole();
    auto checked =
        serve::checked_by(*checker_, growing_->session(), growing_->losses(), suppressions_);
    return sum_up(std::move(checked), growing_->session());
  }

 private:
  // True: the recording is complete.
  bool wait() const {
    pollfd end{.fd = complete_, .events = POLLIN, .revents = 0};
    return ::poll(&end, 1, kRoundMs) > 0;
  }

  // False: there is nothing yet that can be followed.
  bool begin() {
    const auto now = recording_at(path_);
    if (!now || now == old_) return false;
    auto opened = session::Growing::open(path_);
    if (!opened) return false;
    growing_ = std::move(*opened);
    checker_ = std::make_unique<check::Checker>(
        growing_->session(), check::Options{.cache = cache_ ? &*cache_ : nullptr});
    return true;
  }

  Status round() {
    const auto news = growing_->refresh();
    if (!news) return std::unexpected(news.error());
    if (*news) checker_->move_to(growing_->session());
    const auto more = over_ ? growing_->finish(*checker_) : growing_->decode(*checker_);
    if (!more) return std::unexpected(more.error());
    tell();
    return {};
  }

  void tell() {
    auto found = checker_->found_since(std::exchange(told_, checker_->found()));
    std::erase_if(found, [this](const check::Finding& finding) {
      return suppressions_.find(finding, growing_->session().names()) != nullptr;
    });
    for (const check::Finding& finding : check::by_attack(std::move(found))) {
      if (finding.grade == check::Grade::explained) continue;
      write(told_text(finding) + "\n");
      if (what_ == OnFinding::stop && !std::exchange(stopped_, true)) end_program();
    }
  }

  // A finding, or what came to be known of one that was told.
  std::string told_text(const check::Finding& finding) {
    if (attacks_.insert(finding.attack).second) {
      return view::finding_text(finding, growing_->session(), style_);
    }
    std::string out = view::further_step_text(finding, growing_->session(), style_);
    for (const check::Finding& step : finding.steps) {
      out += view::further_step_text(step, growing_->session(), style_);
    }
    return out;
  }

  // What could not be followed while it grew.
  int judge_whole() {
    auto session = session::Session::open({.path = path_});
    if (!session) return give_up(session.error());
    auto checked =
        serve::judge(**session, {.cache = cache_ ? &*cache_ : nullptr}, {}, {}, suppressions_);
    if (!checked) return give_up(checked.error());
    for (const check::Finding& finding : checked->findings) {
      if (finding.grade == check::Grade::explained) continue;
      write(view::finding_text(finding, **session, style_) + "\n");
    }
    return sum_up(std::move(*checked), **session);
  }

  int sum_up(view::Checked checked, const session::Session& session) {
    serve::hide_explained(checked);
    write("hodo: check: " + view::summary_text(checked, session, style_));
    return status_of(checked, false);
  }

  int give_up(const Error& error) {
    write(fmt::format("hodo: the check ended early: {}\n", view::printable(error.message)));
    return kExitIncomplete;
  }

  // Each time at once: the program writes there, too.
  static void write(const std::string& text) {
    view::Output out(STDERR_FILENO);
    out.write(text);
  }

  void end_program() const {
    constexpr std::uint64_t kOne = 1;
    (void)!::write(end_, &kOne, sizeof kOne);
  }

  std::string path_;
  OnFinding what_;
  const check::Suppressions& suppressions_;
  std::optional<Identity> old_;
  int complete_;
  int end_;
  view::Style style_ = view::style_for(STDERR_FILENO, view::ColorMode::automatic);
  std::optional<text::ModuleCache> cache_ = text::ModuleCache::of_user();
  std::unique_ptr<session::Growing> growing_;
  std::unique_ptr<check::Checker> checker_;
  std::size_t told_ = 0;
  std::set<std::uint64_t> attacks_;  // that were told
  bool stopped_ = false;
  bool over_ = false;
};

}  // namespace

Result<std::unique_ptr<LiveCheck>> LiveCheck::start(const std::string& path, OnFinding what,
                                                    const check::Suppressions& suppressions) {
  const auto trouble = [] { return fail(ErrorCode::io, "no process for the check can be had"); };
  std::unique_ptr<LiveCheck> out(new LiveCheck());
  out->end_ = capture::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  std::array<int, 2> complete{};
  std::array<int, 2> verdict{};
  if (!out->end_ || ::pipe2(complete.data(), O_CLOEXEC) != 0) return trouble();
  const capture::Fd complete_end(complete[0]);
  out->complete_ = capture::Fd(complete[1]);
  if (::pipe2(verdict.data(), O_CLOEXEC) != 0) return trouble();
  out->verdict_ = capture::Fd(verdict[0]);
  const capture::Fd verdict_end(verdict[1]);
  const auto old = recording_at(path);
  out->pid_ = ::fork();
  if (out->pid_ < 0) return trouble();
  if (out->pid_ > 0) return out;
  out->complete_.reset();
  // Ctrl-C ends the program, and with it the recording; the verdict comes behind.
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  // What the program sends to its process group is not for this one, either.
  const sigset_t for_others = capture::group_signals();
  ::sigprocmask(SIG_BLOCK, &for_others, nullptr);
  Follower follower(path, what, suppressions, old, complete_end.get(), out->end_.get());
  const int status = follower.run();
  const auto byte = static_cast<unsigned char>(status);
  (void)!::write(verdict_end.get(), &byte, 1);
  ::_exit(status);
}

LiveCheck::~LiveCheck() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  reap();
}

void LiveCheck::reap() {
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

int LiveCheck::finish() {
  complete_.reset();
  unsigned char byte = 0;
  ssize_t got = 0;
  do {
    got = ::read(verdict_.get(), &byte, 1);
  } while (got < 0 && errno == EINTR);
  reap();
  if (got == 1) return byte;
  fmt::print(stderr, "hodo: the check died; 'hodo check' judges the recording\n");
  return kExitIncomplete;
}

}  // namespace hodo::cli
