// Functions that AsmJit makes, which is linked statically: the program's own file makes them.
#include <asmjit/x86.h>

#include <cstdio>
#include <thread>

namespace {

using Function = int (*)(int, int);

int called(int x) { return x + 1; }

Function make(asmjit::JitRuntime& runtime, int start) {
  using namespace asmjit;
  CodeHolder code;
  code.init(runtime.environment());
  x86::Compiler compiler(&code);
  auto* function = compiler.addFunc(FuncSignatureT<int, int, int>());
  const x86::Gp step = compiler.newInt32(), times = compiler.newInt32(), sum = compiler.newInt32();
  function->setArg(0, step);
  function->setArg(1, times);
  const Label again = compiler.newLabel();
  compiler.mov(sum, start);
  compiler.bind(again);
  compiler.add(sum, step);
  compiler.dec(times);
  compiler.jnz(again);
  InvokeNode* call = nullptr;
  compiler.invoke(&call, imm(reinterpret_cast<void*>(&called)), FuncSignatureT<int, int>());
  call->setArg(0, sum);
  call->setRet(0, sum);
  compiler.ret(sum);
  compiler.endFunc();
  compiler.finalize();
  Function out = nullptr;
  runtime.add(&out, &code);
  return out;
}

}  // namespace

int main() {
  asmjit::JitRuntime runtime;
  int sum = 0;
  for (int i = 0; i < 20; ++i) sum += make(runtime, i)(i, 5);
  Function of_thread = nullptr;
  asmjit::JitRuntime other;
  std::thread([&] { of_thread = make(other, 3); }).join();
  std::printf("%d\n", sum + of_thread(1, 2));
}
