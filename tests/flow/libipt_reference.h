// Intel's own decoder (libipt), as the slow and independent reference.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "hodo/flow/decoder.h"
#include "hodo/image/code.h"

namespace hodo::flow {

struct ReferencePath {
  std::vector<std::uint64_t> ips;  // of all instructions, in order
  struct Error {
    int code = 0;              // enum pt_error_code
    std::uint64_t offset = 0;  // in the trace
    std::size_t at = 0;        // ips.size() when it came
    std::uint64_t ip = 0;
  };
  std::vector<Error> errors;
  bool gave_up = false;                     // `most` was reached
  std::array<std::uint64_t, 16> classes{};  // instructions by enum pt_insn_class
};

struct ReferenceOptions {
  pt::Errata errata;                   // whose workarounds it uses
  bool stop_at_error = false;          // otherwise goes on at the next PSB
  bool follow_time = false;            // look code up at the time that libipt has come to, not at 0
  std::size_t most = ~std::size_t{0};  // instructions
};

// Decodes with pt_insn_decoder.
ReferencePath libipt_path(std::span<const std::uint8_t> trace, const image::CodeSource& code,
                          const ReferenceOptions& options);

}  // namespace hodo::flow
