// Walks the branches of a recording: counts the calls of each function.
//   list_branches hodo.data
#include <cstdio>
#include <map>
#include <string>

#include "hodo/session/session.h"

namespace {

// Branches come in batches; all of a batch were executed by the same thread.
class Calls : public hodo::session::BranchSink {
 public:
  explicit Calls(const hodo::session::Names& names) : names_(names) {}

  bool branches(const hodo::session::Context& who, std::span<const hodo::Branch> batch) override {
    for (const hodo::Branch& branch : batch) {
      bool call = branch.kind == hodo::BranchKind::call || branch.kind == hodo::BranchKind::icall;
      if (!call || branch.to == 0) continue;
      hodo::session::Place place = names_.place(who.space, branch.to, branch.time);
      ++counts[place.symbol.empty() ? place.object : place.symbol];
    }
    return true;  // false would stop the decoding
  }

  std::map<std::string, std::uint64_t> counts;

 private:
  const hodo::session::Names& names_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s FILE\n", argv[0]), 2;
  auto session = hodo::session::Session::open({.path = argv[1]});
  if (!session) return std::fprintf(stderr, "%s\n", session.error().message.c_str()), 2;
  Calls calls((*session)->names());
  auto outcome = (*session)->decode({}, calls);
  if (!outcome) return std::fprintf(stderr, "%s\n", outcome.error().message.c_str()), 2;
  for (const auto& [name, count] : calls.counts) {
    std::printf("%8llu %s\n", static_cast<unsigned long long>(count), name.c_str());
  }
  // Lost data is no error, but it is never silent.
  for (const hodo::session::LossLine& loss : outcome->losses) {
    std::fprintf(stderr, "lost: %s, %llu times\n", loss.cause.c_str(),
                 static_cast<unsigned long long>(loss.count));
  }
  std::printf("%llu instructions\n", static_cast<unsigned long long>(outcome->stats.instructions));
  return outcome->complete() ? 0 : 3;
}
