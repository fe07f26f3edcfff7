// Boost's fibers, all of which leave their stacks at one place: channels, exceptions, futures,
// conditions, two threads.
#include <boost/fiber/all.hpp>
#include <iostream>
#include <stdexcept>
#include <thread>
#include <vector>
namespace fibers = boost::fibers;
static int summed() {
  fibers::buffered_channel<int> channel(2);
  int sum = 0;
  fibers::fiber gives([&] {
    for (int i = 0; i < 20; ++i) channel.push(i);
    channel.close();
  });
  fibers::fiber takes([&] {
    for (int i : channel) {
      sum += i;
      try {
        if (i == 7) throw std::runtime_error("seven");
        boost::this_fiber::yield();
      } catch (const std::runtime_error&) {
        sum += 100;
      }
    }
  });
  gives.join();
  takes.join();
  return sum;
}
static int thrown() {
  auto future = fibers::async([] {
    boost::this_fiber::sleep_for(std::chrono::milliseconds(1));
    throw std::runtime_error("late");
    return 0;
  });
  try {
    return future.get();
  } catch (const std::runtime_error&) {
    return 1000;
  }
}
static int waiting() {
  fibers::mutex mutex;
  fibers::condition_variable begun;
  bool go = false;
  int count = 0;
  std::vector<fibers::fiber> all;
  for (int i = 0; i < 10; ++i) {
    all.emplace_back(fibers::launch::dispatch, [&] {
      std::unique_lock<fibers::mutex> lock(mutex);
      begun.wait(lock, [&] { return go; });
      count++;
    });
  }
  go = true;
  begun.notify_all();
  for (auto& f : all) f.join();
  return count;
}
int main() {
  std::thread threads[2];
  for (auto& t : threads) {
    t = std::thread([] {
      std::vector<fibers::fiber> all;
      for (int i = 0; i < 5; ++i) {
        all.emplace_back([] {
          for (int k = 0; k < 5; ++k) boost::this_fiber::yield();
        });
      }
      for (auto& f : all) f.join();
    });
  }
  for (auto& t : threads) t.join();
  std::cout << summed() << " " << thrown() << " " << waiting() << "\n";
  return 0;
}
