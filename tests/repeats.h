// How often tests repeat what chance decides.
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HODO_TEST_SANITIZED
#endif
#endif

namespace hodo {

// Sanitizers look at what each line does, which a few walks show as many do, and take ten times as
// long: with them one of so many is enough.
#ifdef HODO_TEST_SANITIZED
inline constexpr unsigned kOneOf = 10;
#else
inline constexpr unsigned kOneOf = 1;
#endif

constexpr unsigned repeats(unsigned count) { return (count + kOneOf - 1) / kOneOf; }

}  // namespace hodo
