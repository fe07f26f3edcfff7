// A thread that decodes ahead has no memory left: whoever asked hears of it, and nobody waits.
#include <new>
#include <thread>

#include "fixture.h"

namespace hodo::flow {
namespace {

class OnlyHere final : public image::CodeSource {
 public:
  explicit OnlyHere(const Code& code) : code_(code) {}
  image::CodeSpan find(std::uint64_t address, std::uint64_t time) const override {
    if (std::this_thread::get_id() != here_) throw std::bad_alloc();
    return code_.find(address, time);
  }

 private:
  const Code& code_;
  std::thread::id here_ = std::this_thread::get_id();
};

TEST(NoMemory, OfAThreadIsThrownByDecode) {
  const Code code = Code().at(0x1000).jz(0x1000).jmp(0x1000);
  Trace trace;
  for (int i = 0; i < 64; ++i) trace.psb(0x1000).tnt("TTNT");
  const OnlyHere source(code);
  const Piece piece{.bytes = trace.bytes()};
  for (const unsigned threads : {1u, 2u}) {
    Decoder decoder(source, {.threads = threads, .thread_bytes = 1});
    WholeStream stream(std::span(&piece, 1));
    Decoded told;
    if (threads == 1) {
      EXPECT_NO_THROW(decoder.decode(stream, told));
    } else {
      EXPECT_THROW(decoder.decode(stream, told), std::bad_alloc);
    }
  }
}

}  // namespace
}  // namespace hodo::flow
