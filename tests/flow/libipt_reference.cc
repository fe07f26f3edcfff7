#include "libipt_reference.h"

#include <intel-pt.h>

#include <algorithm>
#include <memory>

namespace hodo::flow {
namespace {

struct CodeReader {
  const image::CodeSource& code;
  pt_insn_decoder* clock = nullptr;  // null: time does not matter
};

int read_code(std::uint8_t* buffer, std::size_t size, const pt_asid*, std::uint64_t ip,
              void* context) {
  const auto& reader = *static_cast<const CodeReader*>(context);
  std::uint64_t time = 0;
  if (reader.clock != nullptr) (void)pt_insn_time(reader.clock, &time, nullptr, nullptr);
  const image::CodeSpan span = reader.code.find(ip, time);
  if (span.content == 0) return -pte_nomap;
  const auto rest = span.bytes.subspan(static_cast<std::size_t>(ip - span.address));
  const std::size_t taken = std::min(size, rest.size());
  std::copy_n(rest.begin(), taken, buffer);
  return static_cast<int>(taken);
}

pt_errata libipt_errata(const pt::Errata& errata) {
  pt_errata out{};
  out.bdm64 = errata.bdm64 ? 1 : 0;
  out.bdm70 = errata.bdm70 ? 1 : 0;
  out.skd007 = errata.skd007 ? 1 : 0;
  out.skd010 = errata.skd010 ? 1 : 0;
  out.skd022 = errata.skd022 ? 1 : 0;
  out.skz84 = errata.skz84 ? 1 : 0;
  out.apl12 = errata.apl12 ? 1 : 0;
  return out;
}

class Reference {
 public:
  Reference(std::span<const std::uint8_t> trace, const image::CodeSource& code,
            const ReferenceOptions& options)
      : reader_{code}, options_(options) {
    pt_config config{};
    pt_config_init(&config);
    config.begin = const_cast<std::uint8_t*>(trace.data());
    config.end = config.begin + trace.size();
    config.errata = libipt_errata(options.errata);
    decoder_.reset(pt_insn_alloc_decoder(&config));
    if (options.follow_time) reader_.clock = decoder_.get();
    pt_image_set_callback(pt_insn_get_image(decoder_.get()), read_code, &reader_);
  }

  ReferencePath run() {
    std::uint64_t last_sync = ~std::uint64_t{0};
    for (;;) {
      const int status = pt_insn_sync_forward(decoder_.get());
      if (status < 0) {
        if (status == -pte_eos) break;
        note(status, 0);
        std::uint64_t sync = 0;
        if (pt_insn_get_sync_offset(decoder_.get(), &sync) < 0 || sync == last_sync) break;
        last_sync = sync;
        if (options_.stop_at_error) break;
        continue;
      }
      if (follow(status) && (options_.stop_at_error || path_.gave_up)) break;
      if (at_end_) break;
    }
    return std::move(path_);
  }

 private:
  // True if an error ended it.
  bool follow(int status) {
    for (;;) {
      while (status >= 0 && (status & pts_event_pending) != 0) {
        pt_event event;
        status = pt_insn_event(decoder_.get(), &event, sizeof event);
      }
      if (status >= 0 && (status & pts_eos) != 0) {
        at_end_ = true;
        return false;
      }
      pt_insn insn{};
      if (status >= 0) {
        status = pt_insn_next(decoder_.get(), &insn, sizeof insn);
        if (status >= 0 || insn.iclass != ptic_error) {
          path_.ips.push_back(insn.ip);
          ++path_.classes[insn.iclass];
        }
      }
      if (status == -pte_eos) {
        at_end_ = true;
        return false;
      }
      if (status < 0) {
        note(status, insn.ip);
        return true;
      }
      if (path_.ips.size() >= options_.most) {
        path_.gave_up = true;
        return true;
      }
    }
  }

  void note(int status, std::uint64_t ip) {
    std::uint64_t offset = 0;
    (void)pt_insn_get_offset(decoder_.get(), &offset);
    path_.errors.push_back({.code = -status, .offset = offset, .at = path_.ips.size(), .ip = ip});
  }

  struct Free {
    void operator()(pt_insn_decoder* decoder) const { pt_insn_free_decoder(decoder); }
  };
  CodeReader reader_;
  std::unique_ptr<pt_insn_decoder, Free> decoder_;
  ReferencePath path_;
  ReferenceOptions options_;
  bool at_end_ = false;
};

}  // namespace

ReferencePath libipt_path(std::span<const std::uint8_t> trace, const image::CodeSource& code,
                          const ReferenceOptions& options) {
  return Reference(trace, code, options).run();
}

}  // namespace hodo::flow
