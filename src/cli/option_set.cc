#include "option_set.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <type_traits>

namespace hodo::cli {

Option& Option::type_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::capture_default_str() {
  option_->capture_default_str();
  return *this;
}

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::one_at_a_time() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::hidden() {
  option_->group("");
  return *this;
}

Option& Option::range(std::uint64_t low, std::uint64_t high) {
  const auto check = [low, high](const std::string& word) -> std::string {
    std::uint64_t value = 0;
    // CLI11 reads "-1" as the largest number there is.
    const bool number = !word.starts_with('-') && CLI::detail::lexical_cast(word, value);
    if (number && low <= value && value <= high) return "";
    const std::string upper = high == ~std::uint64_t{0} ? " or more" : fmt::format(" to {}", high);
    return fmt::format("'{}' is no number of {}{}", word, low, upper);
  };
  option_->check(CLI::Validator(check, ""));
  return *this;
}

Option& Option::percent() {
  const auto check = [](const std::string& word) -> std::string {
    double value = 0;
    if (CLI::detail::lexical_cast(word, value) && value >= 0 && value <= 100) return "";
    return fmt::format("'{}' is no number of 0 to 100", word);
  };
  option_->check(CLI::Validator(check, ""));
  return *this;
}

Option& Option::existing_directory() {
  option_->check(CLI::Validator(CLI::ExistingDirectory).description(""));
  return *this;
}

template <class T>
Option OptionSet::add_option(const std::string& names, T& value, const std::string& text) const {
  Option option(*app_->add_option(names, value, text));
  if constexpr (std::is_unsigned_v<T>) option.range(0, std::numeric_limits<T>::max());
  return option;
}

template Option OptionSet::add_option(const std::string&, std::string&, const std::string&) const;
template Option OptionSet::add_option(const std::string&, std::vector<std::string>&,
                                      const std::string&) const;
template Option OptionSet::add_option(const std::string&, std::int32_t&, const std::string&) const;
template Option OptionSet::add_option(const std::string&, std::vector<std::int32_t>&,
                                      const std::string&) const;
template Option OptionSet::add_option(const std::string&, std::uint32_t&, const std::string&) const;
template Option OptionSet::add_option(const std::string&, std::uint64_t&, const std::string&) const;
template Option OptionSet::add_option(const std::string&, double&, const std::string&) const;

Option OptionSet::add_flag(const std::string& names, bool& value, const std::string& text) const {
  return Option(*app_->add_flag(names, value, text));
}

Option OptionSet::add_word(const std::string& names,
                           std::function<std::string(const std::string&)> take,
                           const std::string& text) const {
  // A check's message is told as it is; that of a callback that fails is not.
  return Option(*app_->add_option_function<std::string>(
                         names, [](const std::string&) {}, text)
                     ->check(CLI::Validator(std::move(take), "")));
}

void OptionSet::prefix_command() const { app_->prefix_command(); }

}  // namespace hodo::cli
