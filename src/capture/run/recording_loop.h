// The loop of every recording: until it is over, wait, move the data to the file, heed the user's
// signals and the limits of size and time. What each way to record does at these points it says as
// a Recorder.
#pragma once

#include <cstdint>

#include "hodo/base/result.h"
#include "hodo/capture/options.h"
#include "hodo/perfdata/writer.h"
#include "launch.h"

namespace hodo::capture {

class Recorder {
 public:
  virtual ~Recorder() = default;
  // Nothing is left to record. What came before was drained.
  virtual bool over() = 0;
  // Waits until there is something to do, not for long. Errors end the recording.
  virtual Status wait() = 0;
  // What the user's signals and the program's end say since the last time.
  virtual ProgramEvents take_events() = 0;
  // Moves what there is to the file, or what is worth it. Errors end the recording.
  virtual Status drain() = 0;
  // Of a recording that keeps only the newest part of the trace: writes what is kept.
  virtual void snapshot() {}
  // The recording shall end: a signal asked for it, or a limit has been reached. The program goes
  // on. Whether what goes on would have been recorded.
  virtual bool stop() = 0;
  // All is written that a recorder that is killed must not lose. Errors end the recording.
  virtual Status flush() = 0;
};

class RecordingLoop {
 public:
  // All must outlive the loop.
  RecordingLoop(const RecordOptions& options, Recorder& recorder, const perfdata::Writer& writer)
      : options_(options), recorder_(recorder), writer_(writer) {}

  // Returns when the recording is over. Errors: the recorder's.
  Status run();

  bool interrupted() const { return interrupted_; }  // by a signal
  bool full() const { return full_; }                // the file has its size
  // Whether a signal or a limit has ended the recording while something was left to record.
  bool cut_short() const { return cut_short_; }
  // What a user has to know of the end.
  void add_warnings(RecordResult& result) const;

 private:
  void heed(const ProgramEvents& events);
  void check_limits();
  void stop();
  Status flush_if_due();

  const RecordOptions& options_;
  Recorder& recorder_;
  const perfdata::Writer& writer_;
  bool interrupted_ = false;
  bool full_ = false;
  bool late_ = false;  // the time that was given is over
  bool cut_short_ = false;
  std::uint64_t began_ = 0;
  std::uint64_t last_flush_ = 0;
};

}  // namespace hodo::capture
