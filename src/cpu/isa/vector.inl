// SPDX-License-Identifier: Apache-2.0
// Vectors of the instruction set this file is compiled for, and element conversions.
//
// Nothing here may instantiate functions of the standard library: the linker keeps one
// copy of those, and it could be the one compiled for the widest instruction set.

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
constexpr int kTileRows = 12;  // 24 accumulators of 32 registers
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
constexpr int kTileRows = 6;  // 12 accumulators of 16 registers
#else
constexpr int kVectorBytes = 16;
constexpr int kTileRows = 6;
#endif

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  typedef float type __attribute__((vector_size(kVectorBytes)));
};
template <>
struct VectorOf<double> {
  typedef double type __attribute__((vector_size(kVectorBytes)));
};
template <>
struct VectorOf<std::uint32_t> {
  typedef std::uint32_t type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

inline double load_as(double x, double) { return x; }
inline float load_as(float x, float) { return x; }
inline float load_as(bf16 x, float) { return to_float(x); }
inline float load_as(f16 x, float) { return to_float(x); }

inline void store_from(double x, double* out) { *out = x; }
inline void store_from(float x, float* out) { *out = x; }
inline void store_from(float x, bf16* out) { *out = to_bf16(x); }
inline void store_from(float x, f16* out) { *out = to_f16(x); }

#define TRASMUON_STRING(x) #x
#define TRASMUON_NAME(x) TRASMUON_STRING(x)
constexpr const char* kIsaName = TRASMUON_NAME(TRASMUON_ISA);
