// code.unknown: execution outside of files.
#include <fmt/format.h>

#include <algorithm>

#include "edge_rules.h"
#include "names.h"

namespace hodo::check {

bool has_generator(const session::Regions& regions, std::uint32_t space, std::uint64_t time) {
  return std::ranges::any_of(regions.files(space, time), [](const session::MappedFile& file) {
    return makes_code(file_name(file.path));
  });
}

namespace {

class CodeUnknown final : public EdgeRule {
 public:
  explicit CodeUnknown(CodeOptions options) : EdgeRule(RuleId::code_unknown), options_(options) {}

  std::optional<Verdict> judge(const Edge& edge, Locator& locator) const override {
    if (edge.to.kind == End::Kind::nowhere && edge.branch.kind <= BranchKind::ret) {
      return Verdict{.reason = "leads to where no code is mapped"};
    }
    if (edge.to.kind != End::Kind::no_file) return std::nullopt;
    // Once where it is entered; what happens inside follows from that.
    if (edge.from.kind == End::Kind::no_file) return std::nullopt;
    const std::string process = fmt::format("space {}", edge.space);
    if (options_.allow_jit || has_generator(locator.regions(), edge.space, edge.branch.time)) {
      return Verdict{.grade = Grade::explained,
                     .reason = "code that is in no file ran, made by a code generator",
                     .cause = process};
    }
    constexpr std::uint64_t kPage = 4096;
    return Verdict{.reason = "code that is in no file ran",
                   .cause = fmt::format("{}, page {:#x}", process, edge.to.address / kPage)};
  }

 private:
  CodeOptions options_;
};

}  // namespace

std::unique_ptr<EdgeRule> make_code_unknown(CodeOptions options) {
  return std::make_unique<CodeUnknown>(options);
}

}  // namespace hodo::check
