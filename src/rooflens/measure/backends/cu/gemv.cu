// y = W x for one token: W [N, K] is read once, x stays in L1. TEAM warps share ROWS rows, and each thread keeps
// ROWS x DEEP loads of 16 bytes in flight; K is a multiple of the values in 16 bytes.

#include "values.cuh"

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;

template <class T, int TEAM, int ROWS, int DEEP>
__global__ void __launch_bounds__(THREADS) gemv(const T* __restrict__ w, const T* __restrict__ x, T* __restrict__ y,
                                                int N, int K) {
    constexpr int EACH = 16 / int(sizeof(T)), MEMBERS = 32 * TEAM;
    const int warp = threadIdx.x / 32, member = threadIdx.x % MEMBERS, pieces = K / EACH;
    const int first = (blockIdx.x * (WARPS / TEAM) + warp / TEAM) * ROWS;
    const uint4* rows[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) rows[r] = reinterpret_cast<const uint4*>(w + size_t(min(first + r, N - 1)) * K);
    const uint4* across = reinterpret_cast<const uint4*>(x);
    float sum[ROWS] = {};
    for (int base = member; base < pieces; base += MEMBERS * DEEP) {
        uint4 held[DEEP][ROWS];
#pragma unroll
        for (int d = 0; d < DEEP; d++)
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                held[d][r] = base + MEMBERS * d < pieces ? __ldcs(rows[r] + base + MEMBERS * d) : uint4{};
#pragma unroll
        for (int d = 0; d < DEEP; d++) {
            float other[EACH], mine[EACH];
            unpack<T, 16>(base + MEMBERS * d < pieces ? across[base + MEMBERS * d] : uint4{}, other);
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                unpack<T, 16>(held[d][r], mine);
#pragma unroll
                for (int i = 0; i < EACH; i++) sum[r] += mine[i] * other[i];
            }
        }
    }
    __shared__ float sums[WARPS][ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
        for (int offset = 16; offset; offset /= 2) sum[r] += __shfl_xor_sync(~0u, sum[r], offset);
        if (threadIdx.x % 32 == 0) sums[warp][r] = sum[r];
    }
    __syncthreads();
    if (member >= ROWS || first + member >= N) return;
    float whole = 0.0f;
#pragma unroll
    for (int i = 0; i < TEAM; i++) whole += sums[warp / TEAM * TEAM + i][member];
    y[first + member] = from_float<T>(whole);
}
