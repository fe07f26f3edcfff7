#include "hodo/pt/errata.h"

#include <algorithm>
#include <array>

namespace hodo::pt {
namespace {

template <std::size_t kCount>
bool is_one_of(unsigned model, const std::array<unsigned, kCount>& models) {
  return std::ranges::find(models, model) != models.end();
}

// Generations that share their mistakes, by the models of family 6.
constexpr std::array kBroadwell = {0x3du, 0x47u, 0x4fu, 0x56u};
constexpr std::array kSkylake = {0x4eu, 0x5eu, 0x8eu, 0x9eu, 0xa5u, 0xa6u};  // to Comet Lake
constexpr std::array kServers = {0x55u, 0x6au, 0x6cu, 0x8fu, 0xcfu, 0xadu, 0xaeu};
constexpr std::array kGoldmont = {0x5cu, 0x5fu};
// Cannon Lake to Rocket Lake, Alder Lake to Panther Lake.
constexpr std::array kLater = {0x66u, 0x7du, 0x7eu, 0x8cu, 0x8du, 0xa7u, 0xa8u,
                               0x97u, 0x9au, 0xbau, 0xb7u, 0xbfu, 0xc5u, 0xc6u,
                               0xb5u, 0xaau, 0xacu, 0xbdu, 0xccu, 0xd5u};

bool is_late_server(unsigned family, unsigned model) {
  return (family == 0x6 && is_one_of(model, kServers)) || (family == 0x13 && model == 0x1);
}

bool is_late_client(unsigned family, unsigned model) {
  return (family == 0x6 && is_one_of(model, kLater)) ||
         (family == 0x12 && (model == 0x1 || model == 0x3));
}

}  // namespace

Errata errata_of(unsigned family, unsigned model) {
  const bool skylake = family == 0x6 && is_one_of(model, kSkylake);
  const bool server = is_late_server(family, model);
  Errata out;
  out.bdm64 = family == 0x6 && is_one_of(model, kBroadwell);
  out.skd007 = skylake;
  out.skd010 = skylake;
  out.skd022 = skylake || server || is_late_client(family, model);
  out.skz84 = server;
  out.apl12 = family == 0x6 && is_one_of(model, kGoldmont);
  return out;
}

}  // namespace hodo::pt
