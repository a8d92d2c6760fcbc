// Everything that a translated source may name; precompiled once for each mode of compilation.
#pragma once
#include <algorithm>
#include <array>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

// The runtime belongs to the object alone; only what the user's source defines is visible from outside.
#pragma GCC visibility push(hidden)
#include "language.h"
#include "machine.h"
#include "integers.h"
#include "float_math.h"
#include "packed_integers.h"
#include "math_constants.h"
#include "half.h"
#include "storage.h"
#include "launch.h"
#include "block_loop.h"
#include "barriers.h"
#include "warp.h"
#include "atomics.h"
#include "cache_loads.h"
#include "fp8.h"
#include "copies.h"
#include "barrier_objects.h"
#include "atomic_objects.h"
#include "pipelines.h"
#include "fragments.h"
#include "cooperative_groups.h"
#include "cub_warp.h"
#include "cub_block.h"
#include "cub_data.h"
#include "ptx_arithmetic.h"
#include "ptx_matrices.h"
#include "ptx_multiply.h"
#include "ptx.h"
#include "host.h"
#pragma GCC visibility pop
