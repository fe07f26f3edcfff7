// Threads of SystemC, which are stacks of QuickThreads: one that is killed, one that catches.
#define SC_INCLUDE_DYNAMIC_PROCESSES
#include <iostream>
#include <systemc>

using namespace sc_core;

struct Maker : sc_module {
  sc_fifo_out<int> out;
  SC_HAS_PROCESS(Maker);
  explicit Maker(sc_module_name name) : sc_module(name) { SC_THREAD(run); }
  void run() {
    for (int i = 0; i < 20; ++i) {
      out.write(i);
      wait(1, SC_NS);
    }
  }
};

struct Taker : sc_module {
  sc_fifo_in<int> in;
  SC_HAS_PROCESS(Taker);
  explicit Taker(sc_module_name name) : sc_module(name) { SC_THREAD(run); }
  void run() {
    int sum = 0;
    for (int i = 0; i < 20; ++i) {
      try {
        sum += in.read();
        if (i == 5) throw i;
      } catch (int) {
        ++sum;
      }
    }
    std::cout << sum << std::endl;
    sc_process_handle other = sc_spawn([] { sc_core::wait(100, SC_NS); });
    wait(1, SC_NS);
    other.kill();
    sc_stop();
  }
};

int sc_main(int, char**) {
  Maker maker("maker");
  Taker taker("taker");
  sc_fifo<int> between(2);
  maker.out(between);
  taker.in(between);
  sc_start();
  return 0;
}
