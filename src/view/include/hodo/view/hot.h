// The places where a program spent its path, with their names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hodo/analyze/profile.h"
#include "hodo/session/names.h"
#include "hodo/view/place.h"

namespace hodo::view {

struct HotFunction {
  std::string name;    // printable
  std::string object;  // printable
  std::string source;  // where it begins: "hello.c:12"; empty where nobody asked or knows
  std::uint64_t instructions = 0;
  std::uint64_t calls = 0;
  bool synthetic = false;  // the name is hodo's: session::Place::synthetic
};

struct HotEdge {
  std::string from;  // printable: "main+0x10"
  std::string to;
  BranchKind kind = BranchKind::lost;
  std::uint64_t count = 0;
  bool from_synthetic = false;  // as HotFunction::synthetic
  bool to_synthetic = false;
};

struct HotPlaces {
  // Edges summed by the function they leave (instructions) and enter (calls). By instructions. A
  // call through a PLT stub is one of the function that the stub leads to. Inlined functions, if
  // wanted, have the instructions of the branches that lie in them.
  std::vector<HotFunction> functions;
  // The most frequent with names; of those that are as frequent, the first by name.
  std::vector<HotEdge> edges;
};

// `edges` of one recording, `names` those of its session; at most `top` edges.
HotPlaces hot_places(const std::vector<analyze::Edge>& edges, const session::Names& names,
                     std::size_t top, SourceDetail detail = {});

}  // namespace hodo::view
