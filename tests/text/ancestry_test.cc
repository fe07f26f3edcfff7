// Which classes have bases in common.
#include "hodo/text/ancestry.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "family_elf.h"
#include "hodo/text/module.h"

namespace hodo::text {
namespace {

constexpr std::uint64_t kF = Family::function(1);
constexpr std::uint64_t kG = Family::function(2);

class AncestryTest : public testing::Test {
 protected:
  Ancestry of(std::vector<FamilyMember> members) {
    auto module = Module::analyze(Family(std::move(members)).elf.build());
    EXPECT_TRUE(module);
    module_ = *module;
    return module_->ancestry();
  }
  Ancestry::Kin kin(const Ancestry& ancestry, std::uint64_t function, std::uint64_t offset = 0) {
    return ancestry.kin(module_->virtual_slots(function), offset);
  }
  // Of those whose first slots have kF and kG.
  bool are_strangers(std::vector<FamilyMember> members) {
    const Ancestry ancestry = of(std::move(members));
    return Ancestry::are_strangers(kin(ancestry, kF), kin(ancestry, kG));
  }

 private:
  std::shared_ptr<const Module> module_;
};

TEST_F(AncestryTest, ClassesWithoutABaseAreStrangers) {
  EXPECT_TRUE(are_strangers({{"1A", {}, {kF}}, {"1B", {}, {kG}}}));
  EXPECT_FALSE(are_strangers({{"1A", {}, {kF}}, {"1A", {}, {kG}}})) << "the same name";
}

TEST_F(AncestryTest, ABaseIsKin) {
  EXPECT_FALSE(are_strangers({{"1A", {}, {kF}}, {"1B", {0}, {kG}}}));
}

TEST_F(AncestryTest, SoIsWhoHasTheSameBase) {
  EXPECT_FALSE(are_strangers({{"1A", {}, {}}, {"1B", {0}, {kF}}, {"1C", {0}, {kG}}}));
  EXPECT_TRUE(are_strangers({{"1A", {}, {}}, {"1B", {0}, {kF}}, {"1C", {}, {kG}}}));
}

TEST_F(AncestryTest, AllBasesOfAClassCount) {
  EXPECT_FALSE(
      are_strangers({{"1A", {}, {}}, {"1M", {}, {}}, {"1B", {1, 0}, {kF}}, {"1C", {0}, {kG}}}));
  EXPECT_TRUE(are_strangers(
      {{"1A", {}, {}}, {"1M", {}, {}}, {"1N", {}, {}}, {"1B", {1, 2}, {kF}}, {"1C", {0}, {kG}}}));
}

TEST_F(AncestryTest, BasesOfAnotherFileMayBeAnything) {
  EXPECT_FALSE(are_strangers({{"1A", {}, {}, true}, {"1B", {0}, {kF}}, {"1C", {}, {kG}}}));
  EXPECT_FALSE(are_strangers({{"1A", {}, {kF}, true}, {"1C", {}, {kG}}}));
}

TEST_F(AncestryTest, ACycleEnds) {
  EXPECT_FALSE(are_strangers({{"1A", {1}, {kF}}, {"1B", {0}, {kG}}}));
}

TEST_F(AncestryTest, OnlyVtablesThatHaveItThereCount) {
  const Ancestry ancestry = of({{"1A", {}, {kF}}, {"1B", {}, {kG, kF}}});
  EXPECT_EQ(kin(ancestry, kF, 0).holders.size(), 1u);
  EXPECT_EQ(ancestry.name(kin(ancestry, kF, 0).holders.at(0)), "1A");
  EXPECT_EQ(ancestry.name(kin(ancestry, kF, 8).holders.at(0)), "1B");
  EXPECT_TRUE(kin(ancestry, kF, 16).holders.empty());
  EXPECT_FALSE(Ancestry::are_strangers(kin(ancestry, kF, 0), kin(ancestry, kG, 16)));
}

TEST_F(AncestryTest, AFunctionOfStrangersTellsOfALinkerThatJoinsFunctions) {
  EXPECT_FALSE(of({{"1A", {}, {kF}}, {"1B", {0}, {kF}}}).shares_functions());
  EXPECT_TRUE(of({{"1A", {}, {kF}}, {"1B", {}, {kF}}}).shares_functions());
  EXPECT_TRUE(of({{"1A", {}, {kF}}, {"1B", {}, {kG, kF}}}).shares_functions());
  EXPECT_FALSE(of({{"1A", {}, {kF}}, {"1B", {}, {kG}}}).shares_functions());
}

}  // namespace
}  // namespace hodo::text
