# SPDX-License-Identifier: Apache-2.0
# What BALLAST_GPU needs: nvcc in C++20, the toolkit and CCCL, whose targets ballast::gpu names.
if(CMAKE_VERSION VERSION_LESS 3.25.2)  # these do not know how nvcc spells C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
find_package(CCCL REQUIRED HINTS ${CUDAToolkit_LIBRARY_DIR}/cmake)
