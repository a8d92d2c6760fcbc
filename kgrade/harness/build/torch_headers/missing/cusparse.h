// Declared by kgrade where the toolkit has no cusparse: what PyTorch's own headers name, and no function of the library.
#pragma once
#include <cuda_runtime.h>

enum cusparseStatus_t : int { CUSPARSE_STATUS_SUCCESS = 0, CUSPARSE_STATUS_NOT_INITIALIZED = 1, CUSPARSE_STATUS_INVALID_VALUE = 3 };
using cusparseHandle_t = struct cusparseContext*;
const char* cusparseGetErrorString(cusparseStatus_t status);
