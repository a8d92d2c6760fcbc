// CUDA's words that C++ does not have: qualifiers vanish, built-in types and variables appear.
#pragma once
#include <cstddef>
#include <cstdint>

#define __CUDACC__ 1
#define __NVCC__ 1
#define CUDART_VERSION 13000
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline

// Functions of the runtime that touch the kernel's memory: inlined, so that the access has the line of the call.
#define EMU_INLINE __attribute__((always_inline)) inline
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_assume(...) ((void)0)
#define __prof_trigger(n) ((void)0)
#define __builtin_align__(n) __attribute__((aligned(n)))

#define EMU_VECTOR1(name, type) struct name { type x; };
#define EMU_VECTOR2(name, type, align) struct __attribute__((aligned(align))) name { type x, y; };
#define EMU_VECTOR3(name, type) struct name { type x, y, z; };
#define EMU_VECTOR4(name, type, align) struct __attribute__((aligned(align))) name { type x, y, z, w; };
#define EMU_VECTORS(base, type, align2, align4)                                                     \
  EMU_VECTOR1(base##1, type) EMU_VECTOR2(base##2, type, align2) EMU_VECTOR3(base##3, type)          \
  EMU_VECTOR4(base##4, type, align4)                                                                \
  inline base##1 make_##base##1(type x) { return {x}; }                                             \
  inline base##2 make_##base##2(type x, type y) { return {x, y}; }                                  \
  inline base##3 make_##base##3(type x, type y, type z) { return {x, y, z}; }                       \
  inline base##4 make_##base##4(type x, type y, type z, type w) { return {x, y, z, w}; }

EMU_VECTORS(char, signed char, 2, 4)
EMU_VECTORS(uchar, unsigned char, 2, 4)
EMU_VECTORS(short, short, 4, 8)
EMU_VECTORS(ushort, unsigned short, 4, 8)
EMU_VECTORS(int, int, 8, 16)
EMU_VECTORS(uint, unsigned, 8, 16)
EMU_VECTORS(long, long, 16, 16)
EMU_VECTORS(ulong, unsigned long, 16, 16)
EMU_VECTORS(longlong, long long, 16, 16)
EMU_VECTORS(ulonglong, unsigned long long, 16, 16)
EMU_VECTORS(float, float, 8, 16)
EMU_VECTORS(double, double, 16, 16)

using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

// The scheduler writes these whenever another CUDA thread begins or goes on.
inline uint3 threadIdx;
inline uint3 blockIdx;
inline dim3 blockDim;
inline dim3 gridDim;
constexpr int warpSize = 32;
