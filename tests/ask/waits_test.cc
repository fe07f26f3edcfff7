#include "waits.h"

#include <gtest/gtest.h>

namespace hodo::ask {
namespace {

TEST(Waits, KnowsWhatWaitsByItsName) {
  for (const char* name : {"pthread_join", "___pthread_mutex_lock", "pthread_mutex_lock@plt",
                           "__futex_abstimed_wait_common", "__lll_lock_wait_private", "__timedwait",
                           "__GI___pthread_rwlock_rdlock"}) {
    EXPECT_TRUE(waits_for_threads("libc.so.6", name)) << name;
  }
  EXPECT_TRUE(waits_for_threads("prog", "pthread_join"));
  EXPECT_TRUE(waits_for_threads("prog", "std::sys::sync::mutex::futex::Mutex::lock_contended"));
  // A program's own, what calls back, and what says how it went.
  EXPECT_FALSE(waits_for_threads("prog", "wait"));
  EXPECT_FALSE(waits_for_threads("prog", "futex_table_init"));
  EXPECT_FALSE(waits_for_threads("libc.so.6", "pthread_once"));
  EXPECT_FALSE(waits_for_threads("libc.so.6", "pthread_mutex_trylock"));
  EXPECT_FALSE(waits_for_threads("libc.so.6", "waitpid"));
  EXPECT_TRUE(lets_time_go("__sched_yield"));
  EXPECT_TRUE(lets_time_go("usleep@plt"));
  EXPECT_FALSE(lets_time_go("sleepy"));
}

}  // namespace
}  // namespace hodo::ask
