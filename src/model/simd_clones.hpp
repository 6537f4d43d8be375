#pragma once

// One function compiled for several instruction sets, the best chosen at load time, so that a
// program built without -march is fast everywhere. The resolvers run before a sanitizer is ready,
// and clang-tidy's parser does not know the attribute: both take the plain function. Loops are
// vectorised freely from -O3 on; the build's own level is -O2.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(LOCKSTEP_NO_CLONES)
#define LOCKSTEP_SIMD_CLONES \
  __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#else
#define LOCKSTEP_SIMD_CLONES
#endif
