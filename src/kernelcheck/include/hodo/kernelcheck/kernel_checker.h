// Holds the executed branches of a guest's kernel against what a kernel does to itself: who has put
// code of a module in the place of the kernel's own.
//
// A kernel rewrites its text while it runs (alternatives, return thunks, jump labels, static calls,
// ftrace, kprobes), and calls its modules all the time. What it never does: branch from its own
// functions straight into a module's, lead there by data that is read-only since before init ran,
// and return into a function's beginning.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/check/finding.h"
#include "hodo/kernelcheck/kernel_image.h"
#include "hodo/session/session.h"

namespace hodo::kernelcheck {

std::span<const check::Rule> kernel_rules();

class KernelChecker final : public session::BranchSink {
 public:
  // Both must outlive the checker. `image`: the kernel as it was built, to hold the text that ran
  // against; null: is left out. Errors: unsupported, if the recording has no code of a guest's
  // kernel, or the image is another kernel's.
  static Result<std::unique_ptr<KernelChecker>> of(session::Session& session,
                                                   const KernelImage* image);
  ~KernelChecker() override;

  bool branches(const session::Context& context, std::span<const Branch> batch) override;

  // In the order in which they were found; the same hook of all processes is one. At most 1000.
  std::vector<check::Finding> findings() const;
  std::uint64_t checked() const;  // branches within the kernel seen

 private:
  class Impl;
  explicit KernelChecker(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hodo::kernelcheck
