// The address spaces of a recording, each built when it is first asked for.
#pragma once

#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "files.h"
#include "hodo/image/timeline.h"
#include "hodo/session/regions.h"
#include "space.h"

namespace hodo::session {

class Spaces {
 public:
  // `recording` must outlive this.
  explicit Spaces(const perfdata::Model& recording, Files::Where where = {});

  // Of process `index` of the recording; null if there is none. Addresses stay valid.
  const Space* user(std::uint32_t index);
  const Space& kernel();
  // The one that `address` is looked up in.
  const Space* of(std::uint32_t index, std::uint64_t address) {
    return address >> 63 != 0 ? &kernel() : user(index);
  }
  Files& files() { return files_; }
  // Whether a mapping is of a file, or of bytes that the recording kept of one.
  bool is_of_file(const perfdata::Mapping& mapping) const;
  // By what `mapping` is called at `address` in process `index`: by itself, or if it is of bytes
  // that the recording kept, by what they lie over: a file, or memory by the kernel's name for it;
  // null where nothing is known of that.
  const perfdata::Mapping* called_by(std::uint32_t index, const perfdata::Mapping& mapping,
                                     std::uint64_t address) const;
  // What the mappings of the same file at `address`, up to `mapping`, allowed process `index`.
  Region::Writing writing(std::uint32_t index, const perfdata::Mapping& mapping,
                          std::uint64_t address) const;

 private:
  // What was mapped last where bytes were kept.
  const perfdata::Mapping* beneath(std::uint32_t index, const perfdata::Mapping& mapping,
                                   std::uint64_t address) const;
  // What find(mapped, time) says of what process `index` had mapped; where that is nothing, and
  // `address` is as old as the process, of what the parent had.
  template <class Find>
  const perfdata::Mapping* last_mapped(std::uint32_t index, std::uint64_t address,
                                       std::uint64_t time, Find find) const;

  const perfdata::Model& recording_;
  Files files_;
  image::ContentStore kept_;
  std::vector<std::unique_ptr<Space>> spaces_;
  // By process: what it had mapped itself. Kept code is thousands of pieces, and may lie over as
  // many.
  struct Mapped {
    std::vector<const perfdata::Mapping*> list;  // in order of time
    image::Timeline last;                        // its numbers in `list`
  };
  std::deque<Mapped> mapped_;           // timelines do not move
  std::vector<std::uint32_t> parents_;  // by process, one that is in front of it; or kNone
  std::unique_ptr<Space> kernel_;
};

}  // namespace hodo::session
