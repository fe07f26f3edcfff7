// Which builds of which files ran, and what two builds of one file have in common.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "hodo/analyze/coverage.h"
#include "hodo/session/session.h"

namespace hodo::ask {

// Names that stand for others, by last path component.
using RenamedFiles = std::map<std::string, std::string>;

// Notes the files while it hands runs on, which Session::cover gives.
class Builds final : public session::RunSink {
 public:
  struct Build {
    std::string id;           // build-id in hex, or a word about its layout
    std::uint32_t space = 0;  // that ran it first,
    std::uint64_t time = 0;   // and when, trace clock
    bool program = false;     // started by itself, no library
  };

  // Both must outlive this.
  Builds(const session::Names& names, session::RunSink& next) : names_(names), next_(next) {}

  bool runs(const session::Context& who, std::span<const flow::RunCount> batch) override;

  // By last path component; of files that can be read.
  const std::map<std::string, Build>& found() const { return found_; }
  // What is found has these names from now on.
  void rename(const RenamedFiles& names);

 private:
  static constexpr std::size_t kMostPages = std::size_t{1} << 18;

  const session::Names& names_;
  session::RunSink& next_;
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>> pages_;
  std::map<std::string, Build> found_;
};

// A file of which two runs had a build each. Functions by base_name() of their demangled names.
struct Rebuilt {
  std::set<std::string> alike;  // laid out alike in both: the same places mean the same
  // Only one build has them, or calls them so often, and the other may have them inlined.
  std::set<std::string> single;
  // Of these, which the other has inlined in some place, as its DWARF says: how often it ran them
  // is not known.
  std::set<std::string> inlined;
};
using RebuiltFiles = std::map<std::string, Rebuilt>;  // by last path component

// A function's demangled name without what compilers append to parts and copies of it: "f" of
// "f.cold", "f.part.0", "f.constprop.0.isra.0"; "f(int)" of "f(int) [clone .cold]".
std::string base_name(const std::string& function);

// The files of `b` to be compared with those of `a` that have other names: the program, if each ran
// one that the other did not; versions of a library ("libz.so.1.2.13", "libz.so.1.3.1"). Never two
// with one, nor one whose name the other has, too.
RenamedFiles renamed(const Builds& a, const Builds& b);

struct RanBuilds {
  session::Session& session;
  const Builds& builds;
  const analyze::Coverage& coverage;
};
// The files that both ran, and that are not the same build in both.
RebuiltFiles rebuilt(const RanBuilds& a, const RanBuilds& b);

}  // namespace hodo::ask
