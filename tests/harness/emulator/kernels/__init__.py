"""Kernels in the manner of real work: what each file of CUDA C++ is called with, and what it must give."""
