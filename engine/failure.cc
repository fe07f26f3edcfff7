#include "failure.h"

#include <sys/syscall.h>

#include <cstddef>

#include "attach.h"
#include "decimal.h"
#include "hodo/relay/engine_start.h"
#include "sys.h"

namespace hodo::engine {
namespace {

class Line {
 public:
  Line() { text("hodo engine: "); }
  Line& text(const char* from) {
    while (*from != 0 && at_ < sizeof(line_) - 1) line_[at_++] = *from++;
    return *this;
  }
  Line& hex(std::uint64_t value) {
    text("0x");
    int shift = 60;
    while (shift > 0 && value >> shift == 0) shift -= 4;
    for (; shift >= 0; shift -= 4) put("0123456789abcdef"[value >> shift & 15]);
    return *this;
  }
  Line& number(std::int64_t value) {
    char digits[20];
    const auto size = static_cast<std::uint64_t>(value < 0 ? -value : value);
    const std::size_t count = put_decimal(digits, size);
    if (value < 0) put('-');
    for (std::size_t i = 0; i < count; ++i) put(digits[i]);
    return *this;
  }
  [[noreturn]] void end() {
    line_[at_++] = '\n';
    raw_syscall(SYS_write, 2, reinterpret_cast<long>(line_), static_cast<long>(at_));
    raw_syscall(SYS_exit_group, relay::kEngineFailed);
    __builtin_unreachable();
  }

 private:
  void put(char one) {
    if (at_ < sizeof(line_) - 1) line_[at_++] = one;
  }
  char line_[256];
  std::size_t at_ = 0;
};

}  // namespace

void die(const char* text, std::uint64_t value) {
  fail_to_attach(text, value);
  Line().text(text).text(" ").hex(value).end();
}

void die_of_signal(const KernelInfo& info, const KernelContext& context, const char* part,
                   std::uint64_t made_for) {
  fail_to_attach("it has failed at", context.rip);
  Line line;
  line.text("signal ").number(info.number).text(", code ").number(info.code);
  line.text(", at ").hex(context.rip).text(" in ").text(part);
  if (made_for != 0) line.text(" ").hex(made_for);
  line.text(", address ").hex(info.address).text(", trap ").number(static_cast<long>(context.trap));
  line.end();
}

}  // namespace hodo::engine
