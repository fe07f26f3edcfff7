// JSON-RPC: messages in, answers out, of a recording made by hand.
#include "hodo/serve/rpc.h"

#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "hodo/serve/workspace.h"
#include "method_errors.h"
#include "recording_fixture.h"
#include "schema.h"

namespace hodo::serve {
namespace {

class Rpc : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "rpc" + std::to_string(getpid()) + ".data";
    cli::write_recording(path_);
    auto workspace = Workspace::open({.input = {.path = path_}, .version = "7"});
    ASSERT_TRUE(workspace.has_value()) << workspace.error().message;
    workspace_ = std::move(*workspace);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  Json said(const std::string& message) {
    const auto out = answer_message(*workspace_, message);
    return out ? Json::parse(*out) : Json("nothing");
  }

  std::string path_;
  std::unique_ptr<Workspace> workspace_;
};

TEST_F(Rpc, AnswersARequestWithItsId) {
  const Json one = said(R"({"jsonrpc":"2.0","id":"x","method":"info"})");
  EXPECT_EQ(one["id"], "x");
  EXPECT_EQ(one["result"]["instructions"], 11);
  EXPECT_EQ(one["result"]["version"], "7");
  EXPECT_EQ(said(R"({"jsonrpc":"2.0","id":null,"method":"progress"})")["id"], nullptr);
}

TEST_F(Rpc, NotificationsHaveNoAnswer) {
  EXPECT_EQ(said(R"({"jsonrpc":"2.0","method":"info"})"), "nothing");
  EXPECT_EQ(said(R"({"jsonrpc":"2.0","method":"nosuch"})"), "nothing");
  EXPECT_EQ(said(R"([{"jsonrpc":"2.0","method":"info"}])"), "nothing");
}

TEST_F(Rpc, ABatchIsAnsweredInOrder) {
  const Json all =
      said(R"([{"jsonrpc":"2.0","id":1,"method":"info"},{"jsonrpc":"2.0","method":"info"},
                            {"jsonrpc":"2.0","id":2,"method":"nosuch"}])");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]["id"], 1);
  EXPECT_EQ(all[1]["error"]["code"], kMethodNotFound);
}

// As deep as is allowed, and one more.
TEST_F(Rpc, DepthIsBounded) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse_message(nested(kDeepestMessage)).has_value());
  EXPECT_FALSE(parse_message(nested(kDeepestMessage + 1)).has_value());
  EXPECT_TRUE(parse_message("\"" + std::string(1000, '[') + "\"").has_value());
  EXPECT_FALSE(parse_message(R"(["\"",)" + nested(kDeepestMessage + 1) + "]").has_value());
}

TEST_F(Rpc, LengthIsBounded) {
  const auto long_one = [](std::size_t size) { return "\"" + std::string(size - 2, 'x') + "\""; };
  EXPECT_TRUE(parse_message(long_one(kLongestMessage)).has_value());
  EXPECT_FALSE(parse_message(long_one(kLongestMessage + 1)).has_value());
}

TEST_F(Rpc, AnErrorHasItsCauseAndRemedy) {
  const Json one =
      said(R"({"jsonrpc":"2.0","id":1,"method":"scene","params":{"at":"call:nosuch"}})");
  EXPECT_EQ(one["error"]["code"], kQuestionFailed);
  EXPECT_EQ(one["error"]["data"]["cause"], "not_found");
  const Error error{ErrorCode::not_permitted, "no way; remedy: do it \x1b[31mso"};
  const Json made = error_json(kQuestionFailed, error.message, &error);
  EXPECT_EQ(made["message"], "no way");
  EXPECT_EQ(made["data"]["remedy"], "do it \\x1b[31mso");
}

// What it has left half done is not used again: the file is opened anew.
TEST_F(Rpc, GoesOnWhereThereIsNoMemoryForAnAnswer) {
  ASSERT_TRUE(ask(*workspace_, "findings", Json::object()).has_value());
  ASSERT_NE(workspace_->checked_already(), nullptr);
  const auto line =
      within_memory(*workspace_, []() -> Result<std::string> { throw std::bad_alloc(); });
  ASSERT_FALSE(line.has_value());
  const Json error = error_json(kQuestionFailed, line.error().message, &line.error());
  EXPECT_EQ(error["data"]["cause"], "no_space");
  EXPECT_TRUE(error["data"].contains("remedy"));
  const std::string elsewhere = path_ + ".gone";
  std::filesystem::rename(path_, elsewhere);
  const char* const info = R"({"jsonrpc":"2.0","id":1,"method":"info"})";
  EXPECT_EQ(said(info)["error"]["data"]["cause"], "not_found");
  EXPECT_TRUE(said(R"({"jsonrpc":"2.0","id":1,"method":"progress"})").contains("result"));
  std::filesystem::rename(elsewhere, path_);
  EXPECT_EQ(said(info)["result"]["instructions"], 11);
  EXPECT_EQ(workspace_->checked_already(), nullptr);
}

// Every method's answer fits its schema, and so do no others' parameters.
TEST_F(Rpc, SchemasAreWhatIsAnswered) {
  const std::map<std::string, Json> params{
      {"around", {{"at", "42:2"}, {"direction", "next"}, {"address", "0x401000"}}},
      {"moment", {{"at", "end"}}},
      {"scene", {{"at", "42:2"}}},
      {"calls", {{"function", "nosuch"}}},
      {"code", {{"function", "0x401000"}}},
      {"search", {{"text", "sample"}}},
      {"tile", {{"thread", "42"}, {"from", 0}, {"to", 11}}},
      {"steps", {{"thread", "42"}, {"from", 0}, {"to", 11}}}};
  for (const Method& method : methods()) {
    const auto given = params.find(std::string(method.name));
    const Json one = given == params.end() ? Json::object() : given->second;
    EXPECT_TRUE(schema::check(method.parameters(), one).has_value()) << method.name;
    Json more = one;
    more["no such member"] = 1;
    EXPECT_FALSE(schema::check(method.parameters(), more).has_value()) << method.name;
    const auto answer = ask(*workspace_, method.name, one);
    if (!answer) continue;
    const Status fits = schema::check(method.result(), *answer, "result");
    EXPECT_TRUE(fits.has_value()) << method.name << ": " << fits.error().message;
  }
}

TEST(Schema, TellsWhatDoesNotFit) {
  using namespace schema;
  const Json shape = parameters({{"a", number("", 2)},
                                 {"b", list(one_of({"x", "y"}, ""))},
                                 {"c", optional(string(""))},
                                 {"e", number("", 1, 7)}},
                                {"a"});
  const auto wrong = [&](const char* value) {
    const Status fits = check(shape, Json::parse(value));
    return fits ? std::string() : fits.error().message;
  };
  EXPECT_EQ(wrong(R"({"a":2,"b":["x","y"],"c":null})"), "");
  EXPECT_EQ(wrong(R"({"b":[]})"), "params needs 'a'");
  EXPECT_EQ(wrong(R"({"a":1})"), "params.a is to be at least 2");
  EXPECT_EQ(wrong(R"({"a":-1})"), "params.a is to be at least 2");
  EXPECT_EQ(wrong(R"({"a":2.0})"), "");
  EXPECT_EQ(wrong(R"({"a":1e300})"), "params.a is to be of type integer, not number");
  EXPECT_EQ(wrong(R"({"a":2.5})"), "params.a is to be of type integer, not number");
  EXPECT_EQ(wrong(R"({"a":18446744073709551615})"), "params.a is to be at most 9007199254740992");
  EXPECT_EQ(wrong(R"({"a":2,"e":7})"), "");
  EXPECT_EQ(wrong(R"({"a":2,"e":8})"), "params.e is to be at most 7");
  EXPECT_EQ(wrong(R"({"a":2,"b":["x","z"]})"), "params.b[1] is to be one of x, y");
  EXPECT_EQ(wrong(R"({"a":2,"c":1})"), "params.c is to be of type string, null, not integer");
  EXPECT_EQ(wrong(R"({"a":2,"d":1})"), "params has no member 'd'; its members: a, b, c, e");
  EXPECT_EQ(wrong(R"([])"), "params is to be of type object, not array");
}

}  // namespace
}  // namespace hodo::serve
