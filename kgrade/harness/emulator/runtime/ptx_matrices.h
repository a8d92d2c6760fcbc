// Matrices that the lanes of a warp hold between them: how ldmatrix, stmatrix and movmatrix move
// them (PTX ISA).
#pragma once
#include "ptx_arithmetic.h"
#include "warp.h"

namespace emu {
namespace ptx {

// The checks see each row as the lane that gives its address does, before the lanes meet: an instruction of the warp
// orders no accesses of its lanes.
#ifdef EMU_CHECKS
void touch_row(const void* row, size_t bytes, bool writing, Site site);
#else
inline void touch_row(const void*, size_t, bool, Site) {}
#endif
constexpr int kRowBytes = 16;

// The rows of all matrices, whose addresses the lanes have brought; null for a lane that takes no part.
template <class T>
EMU_UNSEEN void rows_of(T** rows, int count, unsigned lanes) {
  for (int r = 0; r < count; ++r) {
    rows[r] = nullptr;
    if (lanes >> r & 1) memcpy(&rows[r], lane_slot(unsigned(r)).value, sizeof rows[r]);
  }
}

// Lane 4 g + t has elements 2 t and 2 t + 1 of row g, or of column g where a matrix is transposed.
template <int kCount, bool kTransposed>
EMU_UNSEEN void deal_out(unsigned lanes) {
  const void* rows[8 * kCount];
  uint16_t all[8 * kCount][8] = {};
  rows_of(rows, 8 * kCount, lanes);
  for (int r = 0; r < 8 * kCount; ++r) {
    if (rows[r] != nullptr) memcpy(all[r], rows[r], kRowBytes);
  }
  for (unsigned l = 0; l < kWarp; ++l) {
    const unsigned g = l / 4, t = l % 4 * 2;
    unsigned out[kCount];
    for (int m = 0; m < kCount; ++m) {
      const auto matrix = all + 8 * m;
      out[m] = kTransposed ? unsigned(matrix[t][g]) | unsigned(matrix[t + 1][g]) << 16
                           : unsigned(matrix[g][t]) | unsigned(matrix[g][t + 1]) << 16;
    }
    memcpy(lane_slot(l).result, out, sizeof out);
  }
}

struct StoredRow { void* row; unsigned in[4]; };
template <int kCount, bool kTransposed>
EMU_UNSEEN void collect(unsigned lanes) {
  uint16_t all[8 * kCount][8] = {};
  for (unsigned l = 0; l < kWarp; ++l) {
    if ((lanes >> l & 1) == 0) continue;
    StoredRow mine;
    memcpy(&mine, lane_slot(l).value, sizeof mine);
    const unsigned g = l / 4, t = l % 4 * 2;
    for (int m = 0; m < kCount; ++m) {
      const auto matrix = all + 8 * m;
      (kTransposed ? matrix[t][g] : matrix[g][t]) = uint16_t(mine.in[m]);
      (kTransposed ? matrix[t + 1][g] : matrix[g][t + 1]) = uint16_t(mine.in[m] >> 16);
    }
  }
  void* rows[8 * kCount];
  rows_of(rows, 8 * kCount, lanes);
  for (int r = 0; r < 8 * kCount; ++r) {
    if (rows[r] != nullptr) memcpy(rows[r], all[r], kRowBytes);
  }
}

// ldmatrix: lane l brings the address of row l % 8 of matrix l / 8, and takes away two neighbours of each matrix.
template <int kCount, bool kTransposed>
EMU_UNSEEN inline void ldmatrix(unsigned* out, const void* row, Site site) {
  if (lane() < 8 * kCount) touch_row(row, kRowBytes, false, site);
  memcpy(lane_slot().value, &row, sizeof row);
  meet(~0u, Meeting::exchange, site, deal_out<kCount, kTransposed>);
  memcpy(out, lane_slot().result, kCount * sizeof *out);
}

// stmatrix: the same the other way round.
template <int kCount, bool kTransposed>
EMU_UNSEEN inline void stmatrix(void* row, const unsigned* in, Site site) {
  if (lane() < 8 * kCount) touch_row(row, kRowBytes, true, site);
  StoredRow brought{row, {}};
  memcpy(brought.in, in, kCount * sizeof *in);
  memcpy(lane_slot().value, &brought, sizeof brought);
  meet(~0u, Meeting::exchange, site, collect<kCount, kTransposed>);
}

// movmatrix: lane 4 r + t holds columns 2 t and 2 t + 1 of row r.
inline unsigned transpose(unsigned value, Site site) {
  unsigned all[kWarp];
  gather(~0u, &value, sizeof value, all, site);
  const unsigned g = lane() / 4, t = lane() % 4 * 2, shift = 16 * (g % 2);
  return (all[4 * t + g / 2] >> shift & 0xffff) | (all[4 * t + 4 + g / 2] >> shift) << 16;
}

}  // namespace ptx
}  // namespace emu
