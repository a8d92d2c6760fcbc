// What the kernels compute, as loops: the same arithmetic over the same tiles, for a plain compiler.
#include <cstdint>

extern "C" void elementwise(const float* x, float* y, float a, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}

extern "C" void gemm(const float* a, const float* b, float* c, int64_t n) {
  constexpr int T = 32;
  float ta[T][T], tb[T][T], sum[T][T];
  for (int64_t row = 0; row < n; row += T) {
    for (int64_t column = 0; column < n; column += T) {
      for (int y = 0; y < T; ++y)
        for (int x = 0; x < T; ++x) sum[y][x] = 0.0f;
      for (int64_t t = 0; t < n; t += T) {
        for (int y = 0; y < T; ++y) {
          for (int x = 0; x < T; ++x) {
            ta[y][x] = a[(row + y) * n + t + x];
            tb[y][x] = b[(t + y) * n + column + x];
          }
        }
        for (int y = 0; y < T; ++y)
          for (int x = 0; x < T; ++x)
            for (int k = 0; k < T; ++k) sum[y][x] += ta[y][k] * tb[k][x];
      }
      for (int y = 0; y < T; ++y)
        for (int x = 0; x < T; ++x) c[(row + y) * n + column + x] = sum[y][x];
    }
  }
}
