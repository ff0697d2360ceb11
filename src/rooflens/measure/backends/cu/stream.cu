// Streaming over n vectors of 16 bytes: a block takes tiles of UNROLL x blockDim neighbouring vectors, the grid strides,
// loads and stores pass the caches by (.cs), and every thread keeps UNROLL of them in flight.

__device__ unsigned total(uint4 v) { return v.x + v.y + v.z + v.w; }

// The sum of a block's threads, in thread 0.
__device__ unsigned block_sum(unsigned mine) {
    __shared__ unsigned warps[32];
    for (int offset = 16; offset; offset /= 2) mine += __shfl_down_sync(~0u, mine, offset);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x >= 32) return 0;
    mine = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
    for (int offset = 16; offset; offset /= 2) mine += __shfl_down_sync(~0u, mine, offset);
    return mine;
}

// use(i, load(i)) for every i of the grid's tiles.
template <int UNROLL, class Load, class Use> __device__ void sweep(size_t n, Load load, Use use) {
    const size_t tile = size_t(UNROLL) * blockDim.x;
    for (size_t start = blockIdx.x * tile; start < n; start += gridDim.x * tile) {
        const size_t i = start + threadIdx.x;
        if (start + tile <= n) {
            decltype(load(i)) held[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; u++) held[u] = load(i + u * blockDim.x);
#pragma unroll
            for (int u = 0; u < UNROLL; u++) use(i + u * blockDim.x, held[u]);
        } else {
            for (size_t at = i; at < n; at += blockDim.x) use(at, load(at));
        }
    }
}

struct Pair {
    float4 b, c;
};

// s = s + a[i]; one sum a block, so that nothing is thrown away and the result can be checked.
template <int UNROLL> __global__ void stream_read(const uint4* a, size_t n, unsigned* sums) {
    unsigned mine = 0;
    sweep<UNROLL>(n, [=](size_t i) { return __ldcs(a + i); }, [&](size_t, uint4 v) { mine += total(v); });
    mine = block_sum(mine);
    if (threadIdx.x == 0) sums[blockIdx.x] = mine;
}

// a[i] = s
template <int UNROLL> __global__ void stream_write(uint4* a, size_t n, unsigned s) {
    sweep<UNROLL>(n, [=](size_t) { return make_uint4(s, s, s, s); }, [=](size_t i, uint4 v) { __stcs(a + i, v); });
}

// a[i] = b[i]
template <int UNROLL> __global__ void stream_copy(uint4* a, const uint4* b, size_t n) {
    sweep<UNROLL>(n, [=](size_t i) { return __ldcs(b + i); }, [=](size_t i, uint4 v) { __stcs(a + i, v); });
}

// a[i] = b[i] + s c[i]
template <int UNROLL> __global__ void stream_triad(float4* a, const float4* b, const float4* c, size_t n, float s) {
    sweep<UNROLL>(
        n, [=](size_t i) { return Pair{__ldcs(b + i), __ldcs(c + i)}; },
        [=](size_t i, Pair v) {
            __stcs(a + i, make_float4(v.b.x + s * v.c.x, v.b.y + s * v.c.y, v.b.z + s * v.c.z, v.b.w + s * v.c.w));
        });
}

// The same n vectors `passes` times from L2, as one long sweep that starts again at the end, maybe more than once a step:
// after i vectors a thread stands at i % n, whatever n. .cg loads pass L1 by, and volatile keeps every one of them.
extern "C" __global__ void near_read(const uint4* a, size_t n, int passes, unsigned* sums) {
    constexpr int UNROLL = 4;
    const size_t step = size_t(gridDim.x) * blockDim.x, hop = step % n, all = n * passes;
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x, at = i % n;
    unsigned mine = 0;
    while (i < all) {
        uint4 v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++, i += step, at = at + hop < n ? at + hop : at + hop - n) {
            v[u] = make_uint4(0, 0, 0, 0);
            if (i < all)
                asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                             : "=r"(v[u].x), "=r"(v[u].y), "=r"(v[u].z), "=r"(v[u].w) : "l"(a + at));
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) mine += total(v[u]);
    }
    mine = block_sum(mine);
    if (threadIdx.x == 0) sums[blockIdx.x] = mine;
}

// Every block its own n vectors of shared memory, `passes` times, likewise.
extern "C" __global__ void shared_read(unsigned n, int passes, unsigned* sums) {
    constexpr int UNROLL = 4;
    extern __shared__ uint4 tile[];
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) tile[i] = make_uint4(i, i, i, i);
    __syncthreads();
    const unsigned base = unsigned(__cvta_generic_to_shared(tile));
    const unsigned hop = blockDim.x % n, all = n * passes;
    unsigned mine = 0, at = threadIdx.x % n, i = threadIdx.x;
    while (i < all) {
        uint4 v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++, i += blockDim.x, at = at + hop < n ? at + hop : at + hop - n) {
            v[u] = make_uint4(0, 0, 0, 0);
            if (i < all)
                asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                             : "=r"(v[u].x), "=r"(v[u].y), "=r"(v[u].z), "=r"(v[u].w) : "r"(base + 16 * at));
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) mine += total(v[u]);
    }
    mine = block_sum(mine);
    if (threadIdx.x == 0) sums[blockIdx.x] = mine;
}

extern "C" __global__ void empty() {}

// Holds the queue for `ns`, so that what the host enqueues meanwhile starts without waiting for the host.
extern "C" __global__ void hold(unsigned long long ns) {
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - start < ns);
}
