// What the model of a thread's stacks (shadow_stack.h) is told of a branch.
#pragma once

#include <cstdint>

namespace hodo::check {

// What the text says about both ends of a branch. Of an end whose file cannot be read nothing is
// known, and nothing is concluded.
enum PathFact : std::uint32_t {
  kFromSwitch = 1 << 0,  // kSwitchesStack of `from`, or restores_frame()
  kFromPushed = 1 << 1,  // kPushedTarget
  kFromStored = 1 << 2,  // kStoredTarget
  kToReturnSite = 1 << 3,
  // kToReturnSite: `to` is behind a call that returns twice, setjmp or getcontext. Else, and of a
  // call: such a function is entered.
  kToSetjmp = 1 << 4,
  kToLanding = 1 << 5,     // or restores_frame() of `to`
  kToFunction = 1 << 6,    // a function's start
  kToLabel = 1 << 11,      // an address that is written down, inside of a function
  kToSigreturn = 1 << 7,   // the code at `to` does a sigreturn
  kToImage = 1 << 8,       // the entry point of a file
  kFromLongjmp = 1 << 12,  // kFromSwitch, of a file that defines longjmp
  kUnjudged = 1 << 9,      // nothing is known about one of the ends
  kSigreturn = 1 << 10,    // `from` is the system call of code that does a sigreturn
  // The dynamic linker calls a function of another file, also by a jump as it ends.
  kFromLinker = 1 << 13,
  kToLoader = 1 << 14,      // dlopen or its like, through a pointer
  kOpensNothing = 1 << 15,  // a call of code that takes its return address off the stack first
  kToSensitive = 1 << 16,   // is_sensitive()
  kToUntaken = 1 << 17,     // kToFunction, or a jump's kToLabel: nothing in a file has the address
  kToUncalled = 1 << 18,    // kToReturnSite, of a call that this process has not made
  kToNearby = 1 << 19,      // an instruction of the function that the handler interrupted
  kForks = 1 << 20,         // `from` is the system call of a fork
  kToOwnLabel = 1 << 21,    // kToLabel, of the function that `from` lies in
  kResumes = 1 << 22,       // a return behind POPF to an instruction
  kShared = 1 << 23,        // of stacks: the process has other threads, or did something unseen
  kFromResolver = 1 << 24,  // of the dynamic linker's code that binds functions
  kToOtherFile = 1 << 25,   // both ends are known, in different files
  kMayStay = 1 << 26,       // kFromSwitch, of code that adds a distance to RSP, which may be 0
  kToArguments = 1 << 27,   // goes_behind_arguments()
  // A plain return to behind a call: no rule and no fact looks at one end for the other.
  kEndsApart = 1 << 28,
  kAsksLinker = 1 << 30,     // from a slot to its own stub, which has the dynamic linker fill it
  kPlantsReturn = 1u << 31,  // planted_distance()
  kFromNear = 1 << 29,  // near transfers are followed: the one at `from` was interrupted, not made
};
using PathFacts = std::uint32_t;

// Far branches, which a program can make without the kernel. What follows the path outside of its
// cache, as the engine does these, shows them as an interruption.
enum class FarBranch : std::uint8_t { none, call, jump, retf, iret };

}  // namespace hodo::check
