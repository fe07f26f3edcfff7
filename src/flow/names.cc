#include <array>

#include "hodo/flow/branch.h"
#include "hodo/flow/decoder.h"

namespace hodo {
namespace {

constexpr std::array<std::string_view, kBranchKinds> kBranchNames = {
    "cond", "jmp", "ijmp",  "call",    "icall",  "ret",     "syscall", "sysret", "int", "iret",
    "irq",  "exc", "abort", "vmentry", "vmexit", "unknown", "begin",   "end",    "lost"};
static_assert(!kBranchNames.back().empty());

}  // namespace

std::string_view name(BranchKind kind) { return kBranchNames[static_cast<std::size_t>(kind)]; }

namespace flow {
namespace {

constexpr std::array<std::string_view, kLossCauses> kLossNames = {
    "head-cut",      "overflow",           "bad-packet",   "truncated",       "no-code",
    "bad-code",      "impossible-outcome", "endless-loop", "filter-mismatch", "bad-time",
    "recorder-lost", "lost-call",          "altered"};
static_assert(!kLossNames.back().empty());

constexpr std::array<std::string_view, kEventKinds> kEventNames = {
    "paging", "vmcs",        "exec-mode",    "tsx",         "ptwrite",    "exstop",
    "mwait",  "pwre",        "pwrx",         "block-begin", "block-item", "block-end",
    "cbr",    "maintenance", "control-flow", "event-data",  "trigger",    "trace-stop"};
static_assert(!kEventNames.back().empty());

}  // namespace

std::string_view name(LossCause cause) { return kLossNames[static_cast<std::size_t>(cause)]; }
std::string_view name(EventKind kind) { return kEventNames[static_cast<std::size_t>(kind)]; }

}  // namespace flow
}  // namespace hodo
