// Which builds of which files ran.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "hodo/session/session.h"

namespace hodo::ask {

// Notes the files while it hands runs on, which Session::cover gives.
class Builds final : public session::RunSink {
 public:
  // Both must outlive this.
  Builds(const session::Names& names, session::RunSink& next) : names_(names), next_(next) {}

  bool runs(const session::Context& who, std::span<const flow::RunCount> batch) override;

  // Last path component to build-id in hex; of files that have one.
  const std::map<std::string, std::string>& found() const { return found_; }

 private:
  static constexpr std::size_t kMostPages = std::size_t{1} << 18;

  const session::Names& names_;
  session::RunSink& next_;
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>> pages_;
  std::map<std::string, std::string> found_;
};

// The files that both ran, and that are not the same build in both.
std::set<std::string> rebuilt(const Builds& a, const Builds& b);

}  // namespace hodo::ask
