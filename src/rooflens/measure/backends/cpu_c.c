/* Streaming and issue-rate loops, compiled on the machine that is measured. Plain GCC/Clang C, no library.
   All sizes are in bytes and multiples of 512; all pointers are aligned to 64. */
#include <stddef.h>
#include <stdint.h>
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define WIDTH 64
#elif defined(__AVX__)
#define WIDTH 32
#else
#define WIDTH 16
#endif

typedef uint64_t words __attribute__((vector_size(WIDTH), may_alias));
typedef float floats __attribute__((vector_size(WIDTH), may_alias));
typedef double doubles __attribute__((vector_size(WIDTH), may_alias));

#define LINE (64 / WIDTH)
#define FENCE __asm__ volatile("" ::: "memory")

/* A store that does not read the line first, where the machine has one. */
#if defined(__AVX512F__)
#define NONTEMPORAL 1
static inline void put(words *p, words v) { _mm512_stream_si512((void *)p, (__m512i)v); }
#elif defined(__AVX__)
#define NONTEMPORAL 1
static inline void put(words *p, words v) { _mm256_stream_si256((void *)p, (__m256i)v); }
#elif defined(__SSE2__)
#define NONTEMPORAL 1
static inline void put(words *p, words v) { _mm_stream_si128((void *)p, (__m128i)v); }
#elif defined(__clang__)
#define NONTEMPORAL 1
static inline void put(words *p, words v) { __builtin_nontemporal_store(v, p); }
#else
#define NONTEMPORAL 0
static inline void put(words *p, words v) { *p = v; }
#endif

static inline void drain(void) {
#if defined(__SSE2__)
    _mm_sfence();
#else
    __sync_synchronize();
#endif
}

static uint64_t folded(words v) {
    uint64_t sum = 0;
    for (size_t i = 0; i < WIDTH / 8; i++) sum += v[i];
    return sum;
}

int rl_width(void) { return WIDTH; }
int rl_nontemporal(void) { return NONTEMPORAL; }

/* Read: the sum of all 64-bit words, modulo 2^64, times `times`; several streams keep more lines under way. */
#define READ(STREAMS)                                                                        \
    uint64_t rl_read_##STREAMS(const char *a, size_t bytes, long times) {                    \
        words sum[STREAMS * 2];                                                              \
        for (size_t j = 0; j < STREAMS * 2; j++) sum[j] = (words){0};                        \
        const size_t part = bytes / STREAMS;                                                 \
        for (long t = 0; t < times; t++) {                                                   \
            for (size_t i = 0; i < part; i += 64)                                            \
                for (size_t j = 0; j < STREAMS; j++) {                                       \
                    const words *p = (const words *)(a + j * part + i);                      \
                    for (size_t k = 0; k < LINE; k++) sum[2 * j + k % 2] += p[k];            \
                }                                                                            \
            FENCE;                                                                           \
        }                                                                                    \
        words all = sum[0];                                                                  \
        for (size_t j = 1; j < STREAMS * 2; j++) all += sum[j];                              \
        return folded(all);                                                                  \
    }
READ(1)
READ(2)
READ(4)
READ(8)

/* Read in one stream with four lines a turn: for sets that stay in a cache. */
uint64_t rl_read_near(const char *a, size_t bytes, long times) {
    words sum[8];
    for (size_t j = 0; j < 8; j++) sum[j] = (words){0};
    for (long t = 0; t < times; t++) {
        for (size_t i = 0; i < bytes; i += 8 * WIDTH) {
            const words *p = (const words *)(a + i);
            for (size_t j = 0; j < 8; j++) sum[j] += p[j];
        }
        FENCE;
    }
    words all = sum[0];
    for (size_t j = 1; j < 8; j++) all += sum[j];
    return folded(all);
}

void rl_write(char *a, size_t bytes, uint64_t value, long times) {
    const words v = (words){0} + value;
    for (long t = 0; t < times; t++) {
        for (size_t i = 0; i < bytes; i += 4 * WIDTH)
            for (size_t j = 0; j < 4; j++) put((words *)(a + i) + j, v);
        drain();
    }
}

void rl_copy(char *a, const char *b, size_t bytes, long times) {
    for (long t = 0; t < times; t++) {
        for (size_t i = 0; i < bytes; i += 4 * WIDTH)
            for (size_t j = 0; j < 4; j++) put((words *)(a + i) + j, ((const words *)(b + i))[j]);
        drain();
    }
}

/* a = b + s c in single precision. */
void rl_triad(char *a, const char *b, const char *c, size_t bytes, float s, long times) {
    const floats factor = (floats){0} + s;
    for (long t = 0; t < times; t++) {
        for (size_t i = 0; i < bytes; i += 4 * WIDTH)
            for (size_t j = 0; j < 4; j++)
                put((words *)(a + i) + j, (words)(((const floats *)(b + i))[j] + factor * ((const floats *)(c + i))[j]));
        drain();
    }
}

/* 16 additions, each waiting for the one before: one cycle each on every core we know. Register plus register, since
   some cores fold additions of small constants away. */
uint64_t rl_spin(long turns, uint64_t step) {
    uint64_t x = step;
    for (long t = 0; t < turns; t++) {
#if defined(__x86_64__)
        __asm__ volatile(
            "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
            "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
            "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
            "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0"
            : "+r"(x) : "r"(step) : "cc");
#elif defined(__aarch64__)
        __asm__ volatile(
            "add %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\t"
            "add %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\t"
            "add %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\t"
            "add %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1"
            : "+r"(x) : "r"(step));
#else
        return 0;
#endif
    }
    return x;
}

/* Independent multiply-adds, enough to fill every pipe: 2 x CHAINS x lanes FLOPs a turn. */
#if defined(__x86_64__) && !defined(__AVX512F__)
#define CHAINS 12
#else
#define CHAINS 24
#endif
int rl_chains(void) { return CHAINS; }

#define ISSUE(NAME, VECTOR, SCALAR)                                                          \
    double rl_issue_##NAME(long turns) {                                                     \
        VECTOR sum[CHAINS];                                                                  \
        VECTOR x = (VECTOR){0} + (SCALAR)0.999, y = (VECTOR){0} + (SCALAR)0.001;             \
        __asm__ volatile("" : "+m"(x), "+m"(y));                                             \
        for (size_t j = 0; j < CHAINS; j++) sum[j] = (VECTOR){0} + (SCALAR)j;                \
        for (long t = 0; t < turns; t++)                                                     \
            _Pragma("GCC unroll 24") for (size_t j = 0; j < CHAINS; j++) sum[j] = sum[j] * x + y; \
        double all = 0;                                                                      \
        for (size_t j = 0; j < CHAINS; j++) all += (double)sum[j][0];                        \
        return all;                                                                          \
    }
ISSUE(fp32, floats, float)
ISSUE(fp64, doubles, double)
