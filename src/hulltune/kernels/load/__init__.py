"""Where the machine code of kernels comes from: a library in the package, or Numba."""
