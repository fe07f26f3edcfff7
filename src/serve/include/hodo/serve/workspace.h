// An open recording, with what is kept from one question to the next.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hodo/analyze/coverage.h"
#include "hodo/ask/find.h"
#include "hodo/ask/index.h"
#include "hodo/base/result.h"
#include "hodo/serve/asking.h"
#include "hodo/session/session.h"
#include "hodo/view/findings.h"

namespace hodo::serve {

struct OpenOptions {
  session::Options input;
  std::string version;  // of this hodo, for who asks
  bool index = true;    // an index may be made, and kept
  // Other recordings that may be compared with this one: these, or whatever is asked for.
  std::vector<std::string> others{};
  bool any_other = false;
};

// How far the question that is being answered has come.
struct Progress {
  std::string question;     // its number, as who asked gave it; empty: nothing is being answered
  std::string what;         // "decoding"
  std::uint64_t done = 0;   // of `total`
  std::uint64_t total = 0;  // 0: not known yet
};

// Who waits for an answer; both are called in the thread that answers.
struct Listener {
  // How far it has come, at most ten times a second.
  std::function<void(const Progress&)> hear{};
  // Asked at each step of the work. True: nobody wants the answer any more; decoding stops, and the
  // question fails.
  std::function<bool()> gave_up{};
};

// What a thread's branches come to.
struct ThreadTotal {
  ask::ThreadId thread;
  std::int32_t pid = -1;
  std::uint64_t branches = 0;
  std::uint64_t instructions = 0;
  std::uint64_t first_time = 0;  // nanoseconds of the recording's clock; 0: none is known
  std::uint64_t last_time = 0;
};
struct Overview;  // of all threads' calls: overview.h
class Details;    // parts of it, decoded anew: details.h
struct FindingPlace;

// How often the code of the whole recording ran.
struct Counted {
  std::unique_ptr<analyze::CoverageCounts> counts;
  session::Outcome outcome;
};

class Workspace {
 public:
  // Errors: as Session::open.
  static Result<std::unique_ptr<Workspace>> open(const OpenOptions& options);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // Everything from here to the next remark belongs to who answers a question (ask()).
  session::Session& session() { return *session_; }
  const OpenOptions& options() const { return options_; }
  // Where time begins for who asks: the recording's first time. 0: it knows none.
  std::uint64_t start() const;
  // Null: the recording is short, or of a kind that has none.
  const ask::IndexedRecording* index();
  // For decoding what is selected.
  ask::WalkOptions walk(const session::Selection& selection = {});
  // To find moments with.
  ask::FindOptions find(const session::Selection& selection = {});
  // Errors: as Session::decode, judge().
  Result<const Overview*> overview();
  Result<std::vector<session::LossLine>> losses();  // of the whole recording
  Result<const view::Checked*> checked();           // explained findings only counted
  const view::Checked* checked_already() const { return checked_ ? &*checked_ : nullptr; }
  // Of the findings that checked() has, where they lie on their threads' paths.
  const std::vector<std::optional<FindingPlace>>& finding_places() const { return places_; }
  Details& details();
  Result<const Counted*> counted();
  Result<const analyze::Coverage*> covered();  // of that, with source lines
  // Another recording. Errors: not_permitted where it may not be opened; as Session::open.
  Result<std::unique_ptr<session::Session>> open_other(const std::string& path) const;
  // The same with all that is kept of it; lives until another one is asked for. Its progress is
  // told as this one's. Errors: as open_other().
  Result<Workspace*> other(const std::string& path);
  // Says what is being done from now on; `step` has been added to what progress() tells.
  void begin(std::string what);
  // The file is another one than was opened, or has grown.
  bool changed() const;
  bool grown() const;  // it is the one that was opened, and has more now
  // Opens the file as it is now; nothing is kept of what was known. Errors: as open(), and then all
  // stays as it was.
  Status reopen();
  // Answering has ended in its midst: whatever it was at may be half done.
  void distrust() { distrusted_ = true; }
  // Opens the file anew if that was so. To be asked before anything else. Errors: as open(), and it
  // will be tried again.
  Status recover();

  // One question at a time: hold this while asking the members above.
  std::mutex& turn() { return turn_; }
  // Of the holder of the turn; empty: it is done.
  void name_question(std::string question, Listener listener = {});
  // Of the question that was named last: the listener gave up.
  bool given_up() const;
  void give_up();

  // From any thread, at any time.
  Progress progress() const;

 private:
  struct FileState {
    std::uint64_t size = 0;
    std::int64_t seconds = 0, nanoseconds = 0;
    std::uint64_t inode = 0;
    bool operator==(const FileState&) const = default;
  };
  static std::optional<FileState> state_of(const std::string& path);
  Status may_open(const std::string& path) const;
  bool update(std::uint64_t done, std::uint64_t total);  // false: given up
  bool asks_whether_given_up();
  Workspace();
  void forget();

  OpenOptions options_;
  std::unique_ptr<session::Session> session_;
  std::optional<FileState> opened_;
  bool indexed_ = false;  // it was looked for
  std::unique_ptr<ask::IndexedRecording> index_;
  std::unique_ptr<Overview> overview_;
  std::unique_ptr<Details> details_;
  std::optional<view::Checked> checked_;
  std::vector<std::optional<FindingPlace>> places_;
  std::optional<Counted> counted_;
  std::optional<analyze::Coverage> covered_;
  std::unique_ptr<Workspace> other_;  // the one that was asked for last

  std::mutex turn_;
  std::atomic<bool> distrusted_ = false;
  mutable std::mutex telling_;  // holds what follows
  Progress progress_;
  std::uint64_t told_at_ = 0;  // nanoseconds
  bool given_up_ = false;
  Listener listener_;
};

}  // namespace hodo::serve
