// What both decode-attention kernels share: the state of an online softmax, and the merging of warps and splits.

#include "values.cuh"

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr float LOWEST = -1e30f;  // finite, so that LOWEST - LOWEST is 0

// Softmax so far of one head: the largest score, and the sum of exp2(score - most).
struct Soft {
    float most, sum;
};

__device__ float rescale(float from, float to) { return exp2f(from - to); }

template <class Bits> __device__ Bits load(const void* row, int piece, bool wanted) {
    return wanted ? __ldcs(static_cast<const Bits*>(row) + piece) : Bits{};
}

// Weighted values of `count` states at one place, and their softmax: value / sum is the attention.
__device__ float merge(const Soft* softs, const float* values, int count, int soft_step, int value_step, Soft& soft) {
    soft = {LOWEST, 0.0f};
    for (int i = 0; i < count; i++) soft.most = fmaxf(soft.most, softs[i * soft_step].most);
    float value = 0.0f;
    for (int i = 0; i < count; i++) {
        const float share = rescale(softs[i * soft_step].most, soft.most);
        soft.sum += softs[i * soft_step].sum * share;
        value += values[i * value_step] * share;
    }
    return value;
}

// Merges a block's warps, then, in the last block of a pair to arrive, its splits; writes out [pairs, G, W].
// put(g, values, soft): this warp's W values and softmax of head g into shared memory.
template <int W, int G, class A, class Put>
__device__ void finish(Put put, float factor, A* out, float* partial, Soft* softs, unsigned* tickets) {
    __shared__ float values[WARPS][W];
    __shared__ Soft states[WARPS];
    __shared__ bool last;
    const int warp = threadIdx.x / 32, split = blockIdx.x, splits = gridDim.x;
    const size_t pair = blockIdx.y;
    out += pair * G * W, partial += pair * splits * G * W, softs += pair * splits * G;
#pragma unroll
    for (int g = 0; g < G; g++) {
        __syncthreads();
        put(g, values[warp], states + warp);
        __syncthreads();
        for (int at = threadIdx.x; at < W; at += THREADS) {
            Soft whole;
            const float value = merge(states, &values[0][at], WARPS, 1, W, whole);
            if (splits == 1) out[g * W + at] = from_float<A>(value * factor / whole.sum);
            else partial[(split * G + g) * W + at] = value;
            if (splits > 1 && at == 0) softs[split * G + g] = whole;
        }
    }
    if (splits == 1) return;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(tickets + pair, splits - 1) == splits - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    for (int i = threadIdx.x; i < G * W; i += THREADS) {
        Soft whole;
        const float value = merge(softs + i / W, partial + i, splits, G, G * W, whole);
        out[i] = from_float<A>(value * factor / whole.sum);
    }
}
