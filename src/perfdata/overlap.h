// Where two snapshots of one ring buffer overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace hodo::perfdata {

// Snapshots hold the newest bytes of a ring, so a later one may begin with bytes that an earlier
// one ends with. Returns how many bytes of `later` `earlier` has already (what lies before the
// first PSB of `later` belongs to them), or nullopt if nothing of it is found. Intel PT: compares
// from PSB to PSB as perf's intel_pt_find_overlap does, with work linear in the sizes: past that it
// gives up and answers nullopt.
std::optional<std::size_t> find_overlap(std::span<const std::uint8_t> earlier,
                                        std::span<const std::uint8_t> later);

// The same for BTS records of 24 bytes, which begin with the first byte of each snapshot (perf's
// intel_bts_find_overlap).
std::optional<std::size_t> find_bts_overlap(std::span<const std::uint8_t> earlier,
                                            std::span<const std::uint8_t> later);

}  // namespace hodo::perfdata
