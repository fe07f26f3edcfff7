// The JSON form of dumps of LBR registers, read as a stream: no more than one stack is in memory.
#include <cstddef>
#include <nlohmann/json.hpp>

#include "lbr_dump.h"

namespace hodo::session {
namespace {

using Json = nlohmann::json;

// What the parser comes upon. A member's value is a number or an array of numbers; all else is no
// number, whatever is in it.
class Reader final : public Json::json_sax_t {
 public:
  explicit Reader(const LbrDumpSink& sink) : sink_(sink) {}

  Status status() const { return status_; }

  bool null() override { return take("?"); }
  bool boolean(bool) override { return take("?"); }
  bool number_integer(number_integer_t) override { return take("?"); }
  bool number_unsigned(number_unsigned_t value) override { return take(std::to_string(value)); }
  bool number_float(number_float_t, const string_t&) override { return take("?"); }
  // A string with a number: JSON has no hexadecimal, and not every writer keeps 64 bits.
  bool string(string_t& value) override { return take(value); }
  bool binary(binary_t&) override { return take("?"); }

  bool start_object(std::size_t) override {
    if (in_stack_) return take("?");
    dump_ = {};
    in_stack_ = true;
    return true;
  }
  bool key(string_t& name) override {
    name_ = name;
    return true;
  }
  bool end_object() override {
    in_stack_ = false;
    return keep(sink_(std::move(dump_)));
  }
  bool start_array(std::size_t) override {
    if (in_array_) return take("?");
    if (!in_stack_ && std::exchange(in_list_, true)) return no_object();
    in_array_ = in_stack_;
    index_ = 0;
    return true;
  }
  bool end_array() override {
    in_array_ = false;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return keep(fail(ErrorCode::malformed, "the file is no well-formed JSON"));
  }

 private:
  bool take(std::string_view value) {
    if (!in_stack_) return no_object();
    if (!in_array_) return keep(set_in_lbr_dump(dump_, name_, value));
    return keep(set_in_lbr_dump(dump_, name_ + std::to_string(index_++), value));
  }
  bool no_object() { return keep(fail(ErrorCode::malformed, "a stack is no JSON object")); }
  bool keep(Status status) {
    status_ = std::move(status);
    return status_.has_value();
  }

  const LbrDumpSink& sink_;
  Status status_;
  LbrDump dump_;
  std::string name_;
  std::size_t index_ = 0;
  bool in_list_ = false;
  bool in_stack_ = false;
  bool in_array_ = false;
};

}  // namespace

Status parse_lbr_json(std::string_view text, const LbrDumpSink& sink) {
  Reader reader(sink);
  (void)Json::sax_parse(text, &reader);
  return reader.status();
}

}  // namespace hodo::session
