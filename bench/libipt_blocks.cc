#include "libipt_blocks.h"

#include <intel-pt.h>

#include <algorithm>

namespace hodo::bench {
namespace {

int read_code(std::uint8_t* buffer, std::size_t size, const pt_asid*, std::uint64_t ip,
              void* context) {
  const auto& code = *static_cast<const image::CodeSource*>(context);
  const image::CodeSpan span = code.find(ip, 0);
  if (span.content == 0) return -pte_nomap;
  const auto rest = span.bytes.subspan(static_cast<std::size_t>(ip - span.address));
  const std::size_t count = std::min(size, rest.size());
  std::copy_n(rest.begin(), count, buffer);
  return static_cast<int>(count);
}

}  // namespace

struct LibiptBlocks::Impl {
  pt_block_decoder* decoder = nullptr;
};

LibiptBlocks::LibiptBlocks(std::span<const std::uint8_t> trace, const image::CodeSource& code)
    : impl_(new Impl) {
  pt_config config{};
  pt_config_init(&config);
  config.begin = const_cast<std::uint8_t*>(trace.data());
  config.end = config.begin + trace.size();
  config.errata.bdm70 = 1;
  impl_->decoder = pt_blk_alloc_decoder(&config);
  pt_image_set_callback(pt_blk_get_image(impl_->decoder), read_code,
                        const_cast<image::CodeSource*>(&code));
}

LibiptBlocks::~LibiptBlocks() {
  pt_blk_free_decoder(impl_->decoder);
  delete impl_;
}

std::uint64_t LibiptBlocks::pass() {
  pt_block_decoder* const decoder = impl_->decoder;
  std::uint64_t instructions = 0;
  (void)pt_blk_sync_set(decoder, 0);
  for (int status = pt_blk_sync_forward(decoder); status >= 0;
       status = pt_blk_sync_forward(decoder)) {
    for (;;) {
      while (status >= 0 && (status & pts_event_pending) != 0) {
        pt_event event{};
        status = pt_blk_event(decoder, &event, sizeof event);
      }
      if (status < 0 || (status & pts_eos) != 0) break;
      pt_block block{};
      status = pt_blk_next(decoder, &block, sizeof block);
      instructions += block.ninsn;
      if (status < 0) break;
    }
    if (status == -pte_eos || (status >= 0 && (status & pts_eos) != 0)) break;
  }
  return instructions;
}

}  // namespace hodo::bench
