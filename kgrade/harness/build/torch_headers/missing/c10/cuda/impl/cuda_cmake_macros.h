// What building PyTorch for CUDA would write here: nothing that a source which is compiled for its kernels needs.
#pragma once
