// Sorts a million integers, several times: branches that nobody can predict.
#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

int main() {
  std::mt19937 random(1);
  std::vector<int> values(1'000'000);
  unsigned sum = 0;
  for (int round = 0; round < 4; ++round) {
    for (int& value : values) value = static_cast<int>(random());
    std::sort(values.begin(), values.end());
    sum += static_cast<unsigned>(values[values.size() / 2]);
  }
  std::printf("%u\n", sum);
}
