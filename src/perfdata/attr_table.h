// The events of a file, and which of them a record belongs to.
#pragma once

#include <unordered_map>
#include <vector>

#include "hodo/perfdata/reader.h"

namespace hodo::perfdata {

class AttrTable {
 public:
  void add(Attr attr);
  // For names that come after the attrs (EVENT_DESC, EVENT_UPDATE).
  void set_name(std::uint64_t id, std::string name);
  void set_name_at(std::size_t index, std::string name);

  const std::vector<Attr>& attrs() const { return attrs_; }
  const Attr* find(const SampleId& id) const;
  Layout layout_of(const RawRecord& raw) const;

 private:
  const Attr* find_id(std::uint64_t id) const;

  std::vector<Attr> attrs_;
  std::unordered_map<std::uint64_t, std::size_t> by_id_;
  bool one_layout_ = true;
};

}  // namespace hodo::perfdata
