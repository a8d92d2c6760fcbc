// Declared by kgrade where the toolkit has no cusolver: what PyTorch's own headers name, and no function of the library.
#pragma once
#include <cuda_runtime.h>

enum cusolverStatus_t : int { CUSOLVER_STATUS_SUCCESS = 0, CUSOLVER_STATUS_NOT_INITIALIZED = 1, CUSOLVER_STATUS_INVALID_VALUE = 3 };
