#include "hodo/symbol/source_paths.h"

#include <filesystem>
#include <optional>

namespace hodo::symbol {
namespace {

std::string normal(std::string_view path) {
  std::string out = std::filesystem::path(path).lexically_normal();
  while (out.ends_with('/')) out.pop_back();
  return out;
}

// What of `path` is behind `from`, with a slash before it; nullopt: it does not begin so.
std::optional<std::string> rest_behind(const std::string& from, const std::string& path) {
  const bool relative = !path.starts_with('/');
  if (from == ".") return relative ? std::optional("/" + path) : std::nullopt;
  if (!path.starts_with(from)) return std::nullopt;
  std::string rest = path.substr(from.size());
  return rest.empty() || rest.starts_with('/') ? std::optional(std::move(rest)) : std::nullopt;
}

}  // namespace

Status SourcePaths::add(std::string_view rule) {
  const std::size_t equals = rule.find('=');
  const bool good = equals != rule.npos && equals > 0 && equals + 1 < rule.size();
  if (!good) {
    return fail(ErrorCode::usage, "'" + std::string(rule) + "' is not written FROM=TO");
  }
  rules_.push_back({normal(rule.substr(0, equals)), normal(rule.substr(equals + 1))});
  return {};
}

std::string SourcePaths::found(std::string path) const {
  if (rules_.empty() || path.empty()) return path;
  const std::string plain = std::filesystem::path(path).lexically_normal();
  for (const Rule& rule : rules_) {
    const auto rest = rest_behind(rule.from, plain);
    if (rest) return std::filesystem::path(rule.to + *rest).lexically_normal();
  }
  return path;
}

}  // namespace hodo::symbol
