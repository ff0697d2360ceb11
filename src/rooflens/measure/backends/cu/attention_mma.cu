// Decode attention on the tensor cores, for 16-bit and int8 caches: the same grid, splits and merging as attention.cu.
//
// A warp takes 16 keys at a time and up to 8 query heads. scores^T [16 keys, 8 heads] = K q^T and, after the softmax,
// out^T [W, 8 heads] += V^T weights^T, both as mma m16n8k16 with fp32 accumulation. No shared memory is needed on the
// way: a sum does not care for the order of its terms, so the pieces of 16 bytes as they are loaded are declared to be
// the operand of the mma, with q permuted alike; and V^T is pairs of keys put together from two rows.
//
// In a warp g = lane / 4 and t = lane % 4, as the mma's fragments are laid out.

#include "attention.cuh"

constexpr int TILE = 16;

__device__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, __half) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, __nv_bfloat16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// An 8 x 8 matrix of 16-bit values across the warp, transposed.
__device__ unsigned transposed(unsigned x) {
    unsigned y;
    asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(y) : "r"(x));
    return y;
}

__device__ unsigned two(float low, float high, __half) {
    const __half2 x = __floats2half2_rn(low, high);
    return *reinterpret_cast<const unsigned*>(&x);
}
__device__ unsigned two(float low, float high, __nv_bfloat16) {
    const __nv_bfloat162 x = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const unsigned*>(&x);
}

// The low, or the high, values of two registers side by side.
__device__ unsigned lows(unsigned a, unsigned b) { return __byte_perm(a, b, 0x5410); }
__device__ unsigned highs(unsigned a, unsigned b) { return __byte_perm(a, b, 0x7632); }

// A loaded piece as pairs of 16-bit values. A byte u becomes the half 1024 + u by its bits alone, which a subtraction
// puts right.
template <class T> __device__ void pairs_of(const uint4& piece, unsigned* to, T) {
    to[0] = piece.x, to[1] = piece.y, to[2] = piece.z, to[3] = piece.w;
}
__device__ void pairs_of(const uint4& piece, unsigned* to, signed char) {
    const unsigned words[4] = {piece.x, piece.y, piece.z, piece.w};
    const __half2 bias = __float2half2_rn(1152.0f);  // 1024 + 128
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const unsigned bits = __byte_perm(words[i / 2] ^ 0x80808080u, 0x64646464u, i % 2 ? 0x4342 : 0x4140);
        const __half2 x = __hsub2(*reinterpret_cast<const __half2*>(&bits), bias);
        to[i] = *reinterpret_cast<const unsigned*>(&x);
    }
}

// Over the eight g of a warp.
__device__ float most_of(float x) {
#pragma unroll
    for (int offset = 4; offset < 32; offset *= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, offset));
    return x;
}
__device__ float sum_of(float x) {
#pragma unroll
    for (int offset = 4; offset < 32; offset *= 2) x += __shfl_xor_sync(~0u, x, offset);
    return x;
}

template <class T, class A, int W, int G, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS) decode_attention_mma(
    const A* __restrict__ q, const T* __restrict__ k, const T* __restrict__ v, const float2* __restrict__ scales,
    A* __restrict__ out, float* partial, Soft* softs, unsigned* tickets, int S, int chunk, int sharing,
    float scale) {
    constexpr int EACH = 16 / int(sizeof(T)), PAIRS = EACH / 2;
    constexpr int ACROSS = W / (4 * EACH);  // pieces of a key in one lane; four lanes share a key
    constexpr int WIDE = W / (8 * EACH);    // pieces of a value row in one lane; eight lanes share it
    static_assert(WIDE * 8 * EACH == W && G <= 8);
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, warp = threadIdx.x / 32;
    const size_t pair = blockIdx.y, cache = pair / sharing;
    const float2 unit = scales ? scales[cache] : make_float2(1.0f, 1.0f);
    k += cache * S * W, v += cache * S * W, q += pair * G * W;
    scale *= unit.x;

    unsigned query[ACROSS][PAIRS];
#pragma unroll
    for (int p = 0; p < ACROSS; p++)
#pragma unroll
        for (int i = 0; i < PAIRS; i++)
            query[p][i] = g < G ? reinterpret_cast<const unsigned*>(q + g * W + (p * 4 + t) * EACH)[i] : 0u;

    float held[W / 16][4] = {};  // out^T, 16 columns a tile, heads 2t and 2t + 1
    Soft soft[2] = {{LOWEST, 0.0f}, {LOWEST, 0.0f}};
    const int last = min(S, (int(blockIdx.x) + 1) * chunk);
    for (int base = blockIdx.x * chunk + warp * TILE; base < last; base += WARPS * TILE) {
        uint4 key[2][ACROSS], value[4][WIDE];
#pragma unroll
        for (int r = 0; r < 2; r++)
#pragma unroll
            for (int p = 0; p < ACROSS; p++) {
                const int at = base + g + 8 * r;
                key[r][p] = load<uint4>(k + size_t(at) * W, p * 4 + t, at < last);
            }
#pragma unroll
        for (int r = 0; r < 4; r++)
#pragma unroll
            for (int p = 0; p < WIDE; p++) {
                const int at = base + 2 * t + r % 2 + r / 2 * 8;
                value[r][p] = load<uint4>(v + size_t(at) * W, p * 8 + g, at < last);
            }

        float score[4] = {};  // keys g (two heads) and g + 8 (two heads)
#pragma unroll
        for (int p = 0; p < ACROSS; p++) {
            unsigned low[PAIRS], high[PAIRS];
            pairs_of(key[0][p], low, T{});
            pairs_of(key[1][p], high, T{});
#pragma unroll
            for (int i = 0; i < PAIRS; i += 2)
                mma(score, {low[i], high[i], low[i + 1], high[i + 1]}, query[p][i], query[p][i + 1], A{});
        }
        float old[2];
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float& a = score[h];
            float& b = score[h + 2];
            a = base + g < last ? a * scale : minus_infinity();
            b = base + g + 8 < last ? b * scale : minus_infinity();
            const float most = fmaxf(soft[h].most, most_of(fmaxf(a, b)));
            old[h] = rescale(soft[h].most, most);
            a = exp2f(a - most), b = exp2f(b - most);
            soft[h] = {most, soft[h].sum * old[h] + a + b};
        }
        const unsigned first = transposed(two(score[0], score[1], A{}));
        const unsigned second = transposed(two(score[2], score[3], A{}));
#pragma unroll
        for (int p = 0; p < WIDE; p++) {
            unsigned row[4][PAIRS];
#pragma unroll
            for (int r = 0; r < 4; r++) pairs_of(value[r][p], row[r], T{});
#pragma unroll
            for (int i = 0; i < PAIRS; i++) {
                float(&tile)[4] = held[p * PAIRS + i];
#pragma unroll
                for (int c = 0; c < 4; c++) tile[c] *= old[c % 2];
                mma(tile, {lows(row[0][i], row[1][i]), highs(row[0][i], row[1][i]),
                           lows(row[2][i], row[3][i]), highs(row[2][i], row[3][i])}, first, second, A{});
            }
        }
    }

#pragma unroll
    for (int h = 0; h < 2; h++) soft[h].sum = sum_of(soft[h].sum);
    const auto put = [&](int head, float* values, Soft* state) {
        if (t != head / 2) return;
        if (g == 0) *state = soft[head % 2];
#pragma unroll
        for (int i = 0; i < W / 16; i++) {
            const int at = (i / PAIRS * 8 + g) * EACH + i % PAIRS * 2;
            values[at] = held[i][head % 2], values[at + 1] = held[i][head % 2 + 2];
        }
    };
    finish<W, G>(put, unit.y, out, partial, softs, tickets);
}
