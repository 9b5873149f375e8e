/* Processor levels. Written from lang/machines/src/level.rs by
 * `UPDATE=1 cargo test -p sched-llvm --lib target`. */
#ifndef SCHEDC_LEVELS_H
#define SCHEDC_LEVELS_H

#define SCHEDC_BASELINE "x86-64"
#define SCHEDC_CPUID_WORDS 4

#define SCHEDC_LEVELS(X) \
    X("x86-64-v2", true, 0x1, 0x0, 0x00982201, 0x00000001, 0x00000000, 0x00000000, 0x0, \
      "this processor lacks SSE4.2 (x86-64-v2), which the model was compiled for; " \
      "compile it for x86-64") \
    X("x86-64-v3", true, 0x2, 0x1, 0x38401000, 0x00000020, 0x00000128, 0x00000000, 0x6, \
      "this processor lacks AVX2 and FMA (x86-64-v3), which the model was compiled for; " \
      "compile it for x86-64-v2") \
    X("x86-64-v4", true, 0x4, 0x3, 0x00000000, 0x00000000, 0xd0030000, 0x00000000, 0xe6, \
      "this processor lacks AVX-512 (x86-64-v4), which the model was compiled for; " \
      "compile it for x86-64-v3") \
    X("avx512vbmi", false, 0x8, 0x7, 0x00000000, 0x00000000, 0x00000000, 0x00000002, 0xe6, \
      "this processor lacks AVX-512 VBMI, which the model was compiled for; " \
      "compile it for x86-64-v4")

#endif
