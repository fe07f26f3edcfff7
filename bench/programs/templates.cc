// Much for a compiler to do: templates from the standard library and one of its own.
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <unordered_map>

template <int N>
struct Fibonacci {
  static constexpr long value = Fibonacci<N - 1>::value + Fibonacci<N - 2>::value;
};
template <>
struct Fibonacci<0> {
  static constexpr long value = 0;
};
template <>
struct Fibonacci<1> {
  static constexpr long value = 1;
};

int main() {
  std::map<std::string, std::function<int(int)>> functions;
  std::unordered_map<int, std::string> names;
  const std::regex pattern("a+b");
  std::cout << Fibonacci<80>::value << functions.size() << names.size()
            << std::regex_match("aab", pattern);
}
