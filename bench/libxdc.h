// libxdc, the decoder of a fuzzer, as the yardstick: a copy of it that somebody built, loaded at
// run time. What it takes is declared by its libxdc.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/flow/decoder.h"
#include "hodo/image/code.h"

namespace hodo::bench {

class Libxdc {
 public:
  // `file` is its shared library. `trace` and `code` must outlive this. Errors: unsupported, if it
  // cannot be loaded or is something else.
  static Result<std::unique_ptr<Libxdc>> load(const std::string& file,
                                              std::span<const std::uint8_t> trace,
                                              const image::CodeSource& code, flow::IpRange filter);
  ~Libxdc();
  Libxdc(const Libxdc&) = delete;
  Libxdc& operator=(const Libxdc&) = delete;

  void first_pass();         // with a decoder that knows nothing yet, into its bitmap
  void repeated();           // with one that is kept, into its bitmap
  std::uint64_t edges();     // the same by its callback: how many it told of
  bool is_complete() const;  // it decoded all of the trace each time
 private:
  using Decoder = void;
  using Fetch = void* (*)(void*, std::uint64_t, bool*);
  using OnEdge = void (*)(void*, std::uint64_t, std::uint64_t);
  struct Functions {
    Decoder* (*init)(std::uint64_t (*filter)[2], Fetch, void*, void* bitmap, std::size_t) = nullptr;
    int (*decode)(Decoder*, std::uint8_t*, std::size_t) = nullptr;
    void (*on_edge)(Decoder*, OnEdge, void*) = nullptr;
    void (*enable)(Decoder*) = nullptr;
    void (*free)(Decoder*) = nullptr;
  };
  using Page = std::array<std::uint8_t, 4096>;

  Libxdc(std::span<const std::uint8_t> trace, const image::CodeSource& code, flow::IpRange filter);
  bool find_functions(const std::string& file);
  Decoder* make();
  void decode(Decoder* decoder);
  void* page(std::uint64_t address);

  const image::CodeSource& code_;
  std::vector<std::uint8_t> trace_;  // it wants a byte of its own behind the end
  std::uint64_t filter_[4][2] = {};
  std::vector<std::uint8_t> bitmap_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  Functions functions_;
  Decoder* kept_ = nullptr;
  Decoder* told_ = nullptr;
  std::uint64_t edges_ = 0;
  bool complete_ = true;
};

}  // namespace hodo::bench
