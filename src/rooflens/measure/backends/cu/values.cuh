// Stored values and the 16-byte (or shorter) pieces they travel in, each turned into floats.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <int BYTES> struct Piece;
template <> struct Piece<16> { using type = uint4; };
template <> struct Piece<8> { using type = uint2; };
template <> struct Piece<4> { using type = unsigned; };
template <> struct Piece<2> { using type = unsigned short; };
template <> struct Piece<1> { using type = unsigned char; };

__host__ __device__ constexpr int power_of_two_in(int n) { return n & -n; }
__host__ __device__ constexpr int smaller(int a, int b) { return a < b ? a : b; }
__host__ __device__ constexpr int power_of_two_from(int n) { return n <= 1 ? 1 : 2 * power_of_two_from((n + 1) / 2); }

__device__ float minus_infinity() { return __int_as_float(0xff800000); }

__device__ float to_float(float x) { return x; }
__device__ float to_float(__half x) { return __half2float(x); }
__device__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }

template <class T> __device__ T from_float(float x);
template <> __device__ float from_float(float x) { return x; }
template <> __device__ __half from_float(float x) { return __float2half_rn(x); }
template <> __device__ __nv_bfloat16 from_float(float x) { return __float2bfloat16_rn(x); }

// The values in 4 bytes. A byte u becomes the float 2^23 + u by its bits alone, which a subtraction puts right:
// two fast instructions where a conversion is a slow one.
__device__ void unpack(unsigned word, float* to, float) { to[0] = __uint_as_float(word); }
__device__ void unpack(unsigned word, float* to, __half) {
    const float2 two = __half22float2(*reinterpret_cast<const __half2*>(&word));
    to[0] = two.x, to[1] = two.y;
}
__device__ void unpack(unsigned word, float* to, __nv_bfloat16) {
    to[0] = __uint_as_float(word << 16), to[1] = __uint_as_float(word & 0xffff0000u);
}
__device__ void unpack(unsigned word, float* to, signed char) {
    const unsigned biased = word ^ 0x80808080u;  // -128..127 becomes 0..255
#pragma unroll
    for (int i = 0; i < 4; i++)
        to[i] = __uint_as_float(__byte_perm(biased, 0x4b000000u, 0x7650u | i)) - 8388736.0f;  // 2^23 + 128
}

template <class T, int BYTES>
__device__ void unpack(const typename Piece<BYTES>::type& piece, float* to) {
    if constexpr (BYTES >= 4) {
        const unsigned* words = reinterpret_cast<const unsigned*>(&piece);
#pragma unroll
        for (int i = 0; i < BYTES / 4; i++) unpack(words[i], to + i * int(4 / sizeof(T)), T{});
    } else {
        const T* values = reinterpret_cast<const T*>(&piece);
#pragma unroll
        for (int i = 0; i < BYTES / int(sizeof(T)); i++) to[i] = float(values[i]);
    }
}
