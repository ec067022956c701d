// Requests of users to a launcher, and links that it refuses.
#include "core/launcher/request.h"

#include <gtest/gtest.h>

#include <string>

namespace tare::core {
namespace {

TEST(Requests, NameVerbAndProcess) {
  const auto request = parse_request("snapshot 4711 after the load");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->verb, RequestVerb::Snapshot);
  EXPECT_EQ(request->whom, Request::Whom::Process);
  EXPECT_EQ(request->pid, 4711);
  EXPECT_EQ(request->name, "after the load");
}

TEST(Requests, SomeAreAboutSeveral) {
  EXPECT_EQ(parse_request("pause all")->whom, Request::Whom::All);
  EXPECT_EQ(parse_request("resume all")->whom, Request::Whom::All);
  EXPECT_EQ(parse_request("figures largest")->whom, Request::Whom::Largest);
  EXPECT_FALSE(parse_request("snapshot all"));
  EXPECT_FALSE(parse_request("pause largest"));
}

TEST(Requests, OthersAreRefusedWithTheirReason) {
  EXPECT_EQ(parse_request("halt 1").error().message, "there is no request 'halt'");
  for (const char* text : {"pause", "pause ", "pause 0", "pause -3", "pause 12x", "pause x", "pause 99999999999"}) {
    const auto refused = parse_request(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_NE(refused.error().message.find("is no process"), std::string::npos) << text;
  }
  EXPECT_FALSE(parse_request(""));
}

TEST(Requests, LongNamesAreCut) {
  EXPECT_EQ(parse_request("snapshot 1 " + std::string(1000, 'n'))->name, std::string(200, 'n'));
}

}  // namespace
}  // namespace tare::core
