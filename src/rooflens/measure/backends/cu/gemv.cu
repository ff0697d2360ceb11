// y = W x for one token: W [N, K] is read once, x stays in L1. A warp takes ROWS rows and keeps ROWS x DEEP loads of
// 16 bytes in flight; K is a multiple of the values in 16 bytes.

#include "values.cuh"

constexpr int THREADS = 256;

template <class T, int ROWS, int DEEP>
__global__ void __launch_bounds__(THREADS) gemv(const T* __restrict__ w, const T* __restrict__ x, T* __restrict__ y,
                                                int N, int K) {
    constexpr int EACH = 16 / int(sizeof(T));
    const int lane = threadIdx.x % 32, first = (blockIdx.x * THREADS + threadIdx.x) / 32 * ROWS;
    if (first >= N) return;
    const uint4* rows[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) rows[r] = reinterpret_cast<const uint4*>(w + size_t(min(first + r, N - 1)) * K);
    const uint4* across = reinterpret_cast<const uint4*>(x);
    float sum[ROWS] = {};
    for (int base = lane; base < K / EACH; base += 32 * DEEP) {
        uint4 held[DEEP][ROWS];
#pragma unroll
        for (int d = 0; d < DEEP; d++)
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                held[d][r] = base + 32 * d < K / EACH ? __ldcs(rows[r] + base + 32 * d) : uint4{};
#pragma unroll
        for (int d = 0; d < DEEP; d++) {
            float other[EACH], mine[EACH];
            unpack<T, 16>(base + 32 * d < K / EACH ? across[base + 32 * d] : uint4{}, other);
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                unpack<T, 16>(held[d][r], mine);
#pragma unroll
                for (int i = 0; i < EACH; i++) sum[r] += mine[i] * other[i];
            }
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
        for (int offset = 16; offset; offset /= 2) sum[r] += __shfl_xor_sync(~0u, sum[r], offset);
        if (lane == 0 && first + r < N) y[first + r] = from_float<T>(sum[r]);
    }
}
