#include "hodo/hw/bts.h"

#include <cstring>

namespace hodo::hw {

void write_bts_record(const BtsRecord& record, DsLayout layout, std::span<std::uint8_t> out) {
  const std::size_t word = word_bytes(layout);
  const std::uint64_t words[] = {record.from, record.to, record.flags};
  for (std::size_t n = 0; n < std::size(words); ++n) {
    std::memcpy(out.data() + n * word, &words[n], word);
  }
}

}  // namespace hodo::hw
