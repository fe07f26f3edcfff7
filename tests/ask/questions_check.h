// Holds what is answered with an index against what a walk from front to back says.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "hodo/ask/call_store.h"
#include "hodo/ask/index.h"
#include "hodo/ask/moment.h"
#include "hodo/session/session.h"

namespace hodo {

// What a thread executed.
struct Thread {
  std::vector<Branch> branches;
  std::vector<session::Context> who;
};
using Threads = std::map<ask::ThreadId, Thread>;

inline bool same(const Branch& a, const Branch& b) {
  return a.from == b.from && a.to == b.to && a.time == b.time && a.insns == b.insns &&
         a.kind == b.kind && a.flags == b.flags;
}

// Keeps all rows, and counts how often.
class CallsInMemory final : public ask::CallStore {
 public:
  using Bytes = std::vector<std::uint8_t>;
  // Parts have their number for an offset.
  struct Kept {
    Bytes head;
    std::vector<Bytes> parts;
  };
  std::unique_ptr<const File> open(unsigned file) override {
    return files[file] ? std::make_unique<Reader>(*files[file]) : nullptr;
  }
  std::unique_ptr<Writer> write(unsigned file) override {
    return std::make_unique<Adding>(*this, file);
  }
  void forget(unsigned file) override { files[file].reset(); }
  std::uint64_t room() const override { return std::size_t{1} << 24; }
  std::size_t least_segments() const override { return 1; }

  std::array<std::optional<Kept>, kFiles> files;
  std::size_t stored = 0;

 private:
  class Reader final : public File {
   public:
    explicit Reader(Kept kept) : kept_(std::move(kept)) {}
    std::span<const std::uint8_t> head() const override { return kept_.head; }
    std::uint64_t bytes() const override { return kept_.head.size(); }
    std::optional<Bytes> part(const Part& part) const override {
      if (part.offset >= kept_.parts.size()) return std::nullopt;
      return kept_.parts[static_cast<std::size_t>(part.offset)];
    }

   private:
    Kept kept_;
  };
  class Adding final : public Writer {
   public:
    Adding(CallsInMemory& to, unsigned file) : to_(to), file_(file) {}
    std::optional<Part> add(std::span<const std::uint8_t> part) override {
      kept_.parts.emplace_back(part.begin(), part.end());
      bytes_ += part.size();
      return Part{kept_.parts.size() - 1, part.size(), part.size()};
    }
    std::uint64_t bytes() const override { return bytes_; }
    void finish(std::span<const std::uint8_t> head) override {
      kept_.head.assign(head.begin(), head.end());
      to_.files[file_] = std::move(kept_);
      ++to_.stored;
    }

   private:
    CallsInMemory& to_;
    unsigned file_;
    Kept kept_;
    std::uint64_t bytes_ = 0;
  };
};

// Calls, ends, lines and addresses that ran, lists of calls, and windows: some of each. Ends the
// program at the first difference; gives how many were asked. `kept` is the index's.
std::size_t check_questions(session::Session& session, const ask::IndexedRecording& index,
                            CallsInMemory& kept, const Threads& threads, std::mt19937_64& random);

}  // namespace hodo
