// Decode attention on the vector units, any width up to 256: one new token of each sequence against S cached ones.
//
// Grid: (splits, pairs); a pair is a key-value head of a sequence with G of the query heads that share it. A block takes
// `chunk` keys. A row of W values lies across LANES lanes in pieces of up to 16 bytes; the block's lane groups take
// neighbouring keys, KEYS each in flight. Softmax is online, a running state per lane group, merged at the end; the last
// split of a pair to finish merges the splits, so that one launch is enough.

#include "attention.cuh"

template <class T, int W> struct Row {
    static constexpr int BYTES = smaller(16, power_of_two_in(W * int(sizeof(T))));  // one piece
    static constexpr int EACH = BYTES / int(sizeof(T));                             // values in it
    static constexpr int PIECES = W / EACH;
    static constexpr int LANES = smaller(32, power_of_two_from(PIECES));
    static constexpr int PER_LANE = (PIECES + LANES - 1) / LANES;
    static constexpr int HELD = PER_LANE * EACH;  // values of a row in one lane
    static constexpr int GROUPS = THREADS / LANES;
    using Bits = typename Piece<BYTES>::type;

    // Where in the row the lane's i-th value stands; W or more for a lane beyond the row's end.
    __device__ static int place(int lane, int i) { return (i / EACH * LANES + lane) * EACH + i % EACH; }

    __device__ static void take(Bits* to, const T* row, int lane, bool wanted) {
#pragma unroll
        for (int p = 0; p < PER_LANE; p++) {
            const int piece = p * LANES + lane;
            to[p] = load<Bits>(row, piece, wanted && piece < PIECES);
        }
    }
    __device__ static void open(const Bits* from, float* to) {
#pragma unroll
        for (int p = 0; p < PER_LANE; p++) unpack<T, BYTES>(from[p], to + p * EACH);
    }
};

template <int LANES> __device__ float lanes_sum(float x) {
#pragma unroll
    for (int offset = LANES / 2; offset; offset /= 2) x += __shfl_xor_sync(~0u, x, offset);
    return x;
}

// The lane groups of a warp become one: every lane ends with the merged state of its places.
template <int LANES, int HELD> __device__ void merge_groups(Soft& soft, float* held) {
#pragma unroll
    for (int offset = LANES; offset < 32; offset *= 2) {
        const Soft other{__shfl_xor_sync(~0u, soft.most, offset), __shfl_xor_sync(~0u, soft.sum, offset)};
        const float most = fmaxf(soft.most, other.most);
        const float mine = rescale(soft.most, most), theirs = rescale(other.most, most);
        soft = {most, soft.sum * mine + other.sum * theirs};
#pragma unroll
        for (int i = 0; i < HELD; i++) held[i] = held[i] * mine + __shfl_xor_sync(~0u, held[i], offset) * theirs;
    }
}

// q, out [pairs, G, W] of A; k, v [pairs / sharing, S, W] of T: `sharing` pairs read the same cache, where a group is
// larger than G. scales: (key, value) of each cache, or null. partial and softs hold every split's state, tickets one
// counter a pair (0 before and after). scale: of the scores, times log2(e).
template <class T, class A, int W, int G, int KEYS>
__global__ void __launch_bounds__(THREADS) decode_attention(
    const A* __restrict__ q, const T* __restrict__ k, const T* __restrict__ v, const float2* __restrict__ scales,
    A* __restrict__ out, float* partial, Soft* softs, unsigned* tickets, int S, int chunk, int sharing,
    float scale) {
    using R = Row<T, W>;
    constexpr int HELD = R::HELD;
    const int lane = threadIdx.x % R::LANES, group = threadIdx.x / R::LANES;
    const size_t pair = blockIdx.y, cache = pair / sharing;
    const float2 unit = scales ? scales[cache] : make_float2(1.0f, 1.0f);
    k += cache * S * W, v += cache * S * W, q += pair * G * W;

    float query[G][HELD], held[G][HELD];
    Soft soft[G];
#pragma unroll
    for (int g = 0; g < G; g++) {
        soft[g] = {LOWEST, 0.0f};
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            const int at = R::place(lane, i);
            query[g][i] = at < W ? to_float(q[g * W + at]) * scale * unit.x : 0.0f;
            held[g][i] = 0.0f;
        }
    }

    const int last = min(S, (int(blockIdx.x) + 1) * chunk);
    for (int base = blockIdx.x * chunk; base < last; base += KEYS * R::GROUPS) {
        typename R::Bits key[KEYS][R::PER_LANE], value[KEYS][R::PER_LANE];
#pragma unroll
        for (int j = 0; j < KEYS; j++) {
            const int at = base + j * R::GROUPS + group;
            R::take(key[j], k + size_t(at) * W, lane, at < last);
        }
#pragma unroll
        for (int j = 0; j < KEYS; j++) {
            const int at = base + j * R::GROUPS + group;
            R::take(value[j], v + size_t(at) * W, lane, at < last);
        }
        float weight[G][KEYS];
#pragma unroll
        for (int j = 0; j < KEYS; j++) {
            float opened[HELD];
            R::open(key[j], opened);
#pragma unroll
            for (int g = 0; g < G; g++) {
                float dot = 0.0f;
#pragma unroll
                for (int i = 0; i < HELD; i++) dot += query[g][i] * opened[i];
                weight[g][j] = dot;
            }
        }
#pragma unroll
        for (int g = 0; g < G; g++) {
            float most = soft[g].most;
#pragma unroll
            for (int j = 0; j < KEYS; j++) {
                const float score = lanes_sum<R::LANES>(weight[g][j]);
                weight[g][j] = base + j * R::GROUPS + group < last ? score : minus_infinity();
                most = fmaxf(most, weight[g][j]);
            }
            const float old = rescale(soft[g].most, most);
            soft[g] = {most, soft[g].sum * old};
#pragma unroll
            for (int j = 0; j < KEYS; j++) {
                weight[g][j] = exp2f(weight[g][j] - most);
                soft[g].sum += weight[g][j];
            }
#pragma unroll
            for (int i = 0; i < HELD; i++) held[g][i] *= old;
        }
#pragma unroll
        for (int j = 0; j < KEYS; j++) {
            float opened[HELD];
            R::open(value[j], opened);
#pragma unroll
            for (int g = 0; g < G; g++)
#pragma unroll
                for (int i = 0; i < HELD; i++) held[g][i] += weight[g][j] * opened[i];
        }
    }

#pragma unroll
    for (int g = 0; g < G; g++) merge_groups<R::LANES, HELD>(soft[g], held[g]);
    const auto put = [&](int g, float* values, Soft* state) {
        if (threadIdx.x % 32 == 0) *state = soft[g];
        if (threadIdx.x % 32 < R::LANES)
#pragma unroll
            for (int i = 0; i < HELD; i++)
                if (const int at = R::place(lane, i); at < W) values[at] = held[g][i];
    };
    finish<W, G>(put, unit.y, out, partial, softs, tickets);
}
