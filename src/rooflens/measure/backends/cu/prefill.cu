// Softmax of the scores of a causal prefill, in place, for the blocked form: products before and after it are the library's.

#include "values.cuh"

template <class Op> __device__ float over_block(float mine, Op op) {
    __shared__ float warps[32];
    for (int offset = 16; offset; offset /= 2) mine = op(mine, __shfl_xor_sync(~0u, mine, offset));
    __syncthreads();  // the values of an earlier call have been read
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = warps[0];
    for (int warp = 1; warp < blockDim.x / 32; warp++) mine = op(mine, warps[warp]);
    return mine;
}

// A block takes a row of `keys` scores; it is that of query `first + row % rows`, which sees the keys up to itself: the
// others become 0. PIECES x blockDim pieces of 16 bytes hold a row. factor: log2(e) over the root of the head width.
template <class T, int PIECES> __global__ void causal_softmax(T* scores, int keys, int first, int rows, float factor) {
    constexpr int EACH = 16 / sizeof(T);
    const int seen = first + int(blockIdx.x % rows) + 1;
    uint4* row = reinterpret_cast<uint4*>(scores + size_t(blockIdx.x) * keys);
    float held[PIECES][EACH], most = minus_infinity(), sum = 0;
#pragma unroll
    for (int p = 0; p < PIECES; p++) {
        const int at = (p * blockDim.x + threadIdx.x) * EACH;
        if (at < seen) unpack<T, 16>(row[at / EACH], held[p]);
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            if (at + i >= seen) held[p][i] = minus_infinity();
            most = fmaxf(most, held[p][i]);
        }
    }
    most = over_block(most, [](float a, float b) { return fmaxf(a, b); });
#pragma unroll
    for (int p = 0; p < PIECES; p++) {
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            held[p][i] = exp2f((held[p][i] - most) * factor);
            sum += held[p][i];
        }
    }
    const float share = 1 / over_block(sum, [](float a, float b) { return a + b; });
#pragma unroll
    for (int p = 0; p < PIECES; p++) {
        const int at = (p * blockDim.x + threadIdx.x) * EACH;
        if (at >= keys) continue;
        alignas(16) T out[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) out[i] = from_float<T>(held[p][i] * share);
        row[at / EACH] = *reinterpret_cast<const uint4*>(out);
    }
}
