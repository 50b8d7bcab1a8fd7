// torch::Tensor and its three ways to the data: element by element, as a stream, through TCM.
#pragma once
#include "torch/types.h"

namespace at {

// Whether accessors of one tensor may see different data: streams keep 4 KB of it in TCM.
class CoherencyEnforcer {
 public:
  enum Policy { COHERENT, INCOHERENT_VERBOSE, INCOHERENT_QUIET };
};

struct TensorBody {  // what copies of a Tensor share
  int64_t uses;
  ScalarType dtype;
  int slot;  // argument's number, OUT, or -1 for memory of its own
  int dims;
  int64_t sizes[neuron_edu::MAX_DIMS], strides[neuron_edu::MAX_DIMS], numel;
  char *data;  // nullptr in a shape function
  int read_streams, write_streams;
  CoherencyEnforcer::Policy policy;
};

}  // namespace at

namespace neuron_edu {

using at::TensorBody;

size_t itemsize(c10::ScalarType dtype);
const char *name_of(c10::ScalarType dtype);
[[noreturn]] void wrong_dtype(const TensorBody *, c10::ScalarType, const char *call, const char *file,
                              int line);
void check_accessor(const TensorBody *, int dims, c10::ScalarType, const char *file, int line);
void incoherent(const TensorBody *, const char *what, const char *file, int line);
void drop(TensorBody *);

void *take_tcm(size_t bytes, bool is_stream, const char *file, int line);
void give_tcm(void *, const char *file, int line);
void copy_tcm(const TensorBody *, void *tcm, size_t offset, size_t count, size_t itemsize,
              bool to_tensor, const char *file, int line);

constexpr size_t STREAM_BYTES = 4096;

// Open, move and close a stream; nullptr where TCM has no room for another.
void *open_stream(TensorBody *, c10::ScalarType, bool writes, const char *file, int line);
void close_stream(TensorBody *, void *chunk, bool writes);
void refill(const TensorBody *, void *chunk, int64_t first, int64_t count, bool writes);

template <class T, bool read_only>
using Element = std::conditional_t<read_only, const T &, T &>;

NEURON_EDU_INLINE void count_element(const TensorBody *tensor, const Index &i) {
  ++here.counts.elements;
  ++at(i.file, i.line).elements;
  if (__builtin_expect(tensor->write_streams, 0))
    incoherent(tensor, "an element accessor touches it", i.file, i.line);
}

}  // namespace neuron_edu

namespace at {

using neuron_edu::Index;

template <class T, size_t N, bool read_only> class TensorAccessor {
  T *data_;
  const TensorBody *tensor_;

 public:
  TensorAccessor(T *data, const TensorBody *tensor) : data_(data), tensor_(tensor) {}
  NEURON_EDU_INLINE TensorAccessor<T, N - 1, read_only> operator[](Index i) const {
    int axis = tensor_->dims - (int)N;
    int64_t size = *(tensor_->sizes + axis);  // as a pointer, which the compiler does not watch
    if (__builtin_expect((uint64_t)i.value >= (uint64_t)size, 0)) neuron_edu::outside(i, size, axis);
    return {data_ + i.value * *(tensor_->strides + axis), tensor_};
  }
  int64_t size(int axis) const { return tensor_->sizes[tensor_->dims - (int)N + axis]; }
  IntArrayRef sizes() const { return {tensor_->sizes + tensor_->dims - N, N}; }
};

template <class T, bool read_only> class TensorAccessor<T, 1, read_only> {
  T *data_;
  const TensorBody *tensor_;

 public:
  TensorAccessor(T *data, const TensorBody *tensor) : data_(data), tensor_(tensor) {}
  NEURON_EDU_INLINE neuron_edu::Element<T, read_only> operator[](Index i) const {
    int64_t size = *(tensor_->sizes + tensor_->dims - 1);
    if (__builtin_expect((uint64_t)i.value >= (uint64_t)size, 0))
      neuron_edu::outside(i, size, tensor_->dims - 1);
    neuron_edu::count_element(tensor_, i);
    return data_[i.value];
  }
  int64_t size(int) const { return tensor_->sizes[tensor_->dims - 1]; }
  IntArrayRef sizes() const { return {tensor_->sizes + tensor_->dims - 1, 1}; }
};

// What both kinds of stream are: a place in the tensor, and 4 KB of it in TCM.
template <class T, bool writes> class Stream {
 protected:
  TensorBody *tensor_;
  T *chunk_;  // nullptr: no room in TCM, every element is a trip to HBM
  int64_t next_ = 0, first_ = 0, end_ = 0;
  bool is_open_ = true;

  Stream(TensorBody *tensor, const char *file, int line) : tensor_(tensor) {
    ++tensor->uses;
    chunk_ = (T *)neuron_edu::open_stream(tensor, c10::TypeOf<T>::value, writes, file, line);
  }
  Stream(Stream &&other) { memcpy((void *)this, (void *)&other, sizeof(*this)); other.forget(); }
  ~Stream() { finish(); }
  void forget() { is_open_ = false, tensor_ = nullptr; }
  void flush() {
    if (chunk_ && writes && next_ > first_)
      neuron_edu::refill(tensor_, chunk_, first_, next_ - first_, true);
    first_ = next_;
  }
  void finish() {
    if (is_open_) {
      flush();
      neuron_edu::close_stream(tensor_, chunk_, writes);
      is_open_ = false;
    }
    if (tensor_) neuron_edu::drop(tensor_);
    tensor_ = nullptr;
  }
  NEURON_EDU_INLINE T &step(const char *file, int line) {
    if (__builtin_expect(!is_open_, 0))
      neuron_edu::refuse(file, line, "%s on a stream that is closed; open another",
                         writes ? "write()" : "read()");
    if (__builtin_expect(next_ >= tensor_->numel, 0))
      neuron_edu::refuse(file, line, "a stream %s past the end of its tensor of %lld elements",
                         writes ? "writes" : "reads", (long long)tensor_->numel);
    neuron_edu::Line &at = neuron_edu::at(file, line);
    if (__builtin_expect(!chunk_, 0)) {
      ++neuron_edu::here.counts.elements, ++at.elements;
      return ((T *)tensor_->data)[next_++];
    }
    if (__builtin_expect(next_ >= end_, 0)) {
      flush();
      constexpr int64_t most = (int64_t)(neuron_edu::STREAM_BYTES / sizeof(T));
      int64_t left = tensor_->numel - next_;
      first_ = next_, end_ = next_ + (left < most ? left : most);
      if (!writes) neuron_edu::refill(tensor_, chunk_, first_, end_ - first_, false);
    }
    ++neuron_edu::here.counts.streamed, ++at.streamed;
    return chunk_[next_++ - first_];
  }

 public:
  int close() {
    finish();
    return 0;
  }
};

template <class T> class TensorReadStreamAccessor : public Stream<T, false> {
 public:
  TensorReadStreamAccessor(TensorBody *tensor, const char *file, int line)
      : Stream<T, false>(tensor, file, line) {}
  TensorReadStreamAccessor(TensorReadStreamAccessor &&) = default;
  NEURON_EDU_INLINE T read(NEURON_EDU_WHERE) { return this->step(file, line); }
};

template <class T> class TensorWriteStreamAccessor : public Stream<T, true> {
 public:
  TensorWriteStreamAccessor(TensorBody *tensor, const char *file, int line)
      : Stream<T, true>(tensor, file, line) {}
  TensorWriteStreamAccessor(TensorWriteStreamAccessor &&) = default;
  NEURON_EDU_INLINE void write(T value, NEURON_EDU_WHERE) { this->step(file, line) = value; }
};

template <bool read_only> class TensorTcmAccessor {
  TensorBody *tensor_;

  template <class T> void check(const char *call, const char *file, int line) const {
    if (c10::TypeOf<T>::value != tensor_->dtype)
      neuron_edu::wrong_dtype(tensor_, c10::TypeOf<T>::value, call, file, line);
  }

 public:
  explicit TensorTcmAccessor(TensorBody *tensor) : tensor_(tensor) {}
  template <class T>
  void tensor_to_tcm(T *tcm_ptr, size_t tensor_offset, size_t num_elem, NEURON_EDU_WHERE) const {
    check<T>("tensor_to_tcm", file, line);
    neuron_edu::copy_tcm(tensor_, (void *)tcm_ptr, tensor_offset, num_elem, sizeof(T), false, file,
                         line);
  }
  template <class T>
  void tcm_to_tensor(T *tcm_ptr, size_t tensor_offset, size_t num_elem, NEURON_EDU_WHERE) const {
    static_assert(!read_only || sizeof(T) == 0,
                  "this tensor is const, and its TCM accessor only reads");
    check<T>("tcm_to_tensor", file, line);
    neuron_edu::copy_tcm(tensor_, (void *)tcm_ptr, tensor_offset, num_elem, sizeof(T), true, file,
                         line);
  }
};

class Tensor {
  TensorBody *body_ = nullptr;

  template <class T, size_t N> T *checked(const char *file, int line) const {
    static_assert(c10::TypeOf<T>::value != ScalarType::Undefined,
                  "accessors are of float, at::BFloat16, at::Half, int32_t, int8_t, int16_t or "
                  "uint8_t: the dtypes of the GPSIMD's tensor library");
    neuron_edu::check_accessor(body_, (int)N, c10::TypeOf<T>::value, file, line);
    return (T *)body_->data;
  }

 public:
  Tensor() = default;
  explicit Tensor(TensorBody *body) : body_(body) {}  // takes over one use
  Tensor(const Tensor &other) : body_(other.body_) {
    if (body_) ++body_->uses;
  }
  Tensor(Tensor &&other) noexcept : body_(other.body_) { other.body_ = nullptr; }
  ~Tensor() {
    if (body_) neuron_edu::drop(body_);
  }
  Tensor &operator=(const Tensor &other) & {
    Tensor copy(other);
    std::swap(body_, copy.body_);
    return *this;
  }
  Tensor &operator=(Tensor &&other) & {
    std::swap(body_, other.body_);
    return *this;
  }

  TensorBody *body() const { return body_; }
  bool defined() const { return body_ != nullptr; }
  int64_t numel() const { return body_->numel; }
  int64_t dim() const { return body_->dims; }
  int64_t size(Index axis) const { return sizes()[axis]; }
  IntArrayRef sizes() const { return {body_->sizes, (size_t)body_->dims}; }
  IntArrayRef strides() const { return {body_->strides, (size_t)body_->dims}; }
  int64_t stride(Index axis) const { return strides()[axis]; }
  ScalarType scalar_type() const { return body_->dtype; }
  ScalarType dtype() const { return body_->dtype; }
  TensorOptions options() const { return body_->dtype; }
  int64_t element_size() const { return (int64_t)neuron_edu::itemsize(body_->dtype); }
  bool is_contiguous() const { return true; }

  template <class T, size_t N>
  TensorAccessor<T, N, true> accessor(NEURON_EDU_WHERE) const & {
    return {checked<T, N>(file, line), body_};
  }
  template <class T, size_t N> TensorAccessor<T, N, false> accessor(NEURON_EDU_WHERE) & {
    return {checked<T, N>(file, line), body_};
  }
  template <class T>
  TensorReadStreamAccessor<T> read_stream_accessor(NEURON_EDU_WHERE) const & {
    return {body_, file, line};
  }
  template <class T> TensorWriteStreamAccessor<T> write_stream_accessor(NEURON_EDU_WHERE) & {
    return {body_, file, line};
  }
  TensorTcmAccessor<true> tcm_accessor() const & { return TensorTcmAccessor<true>(body_); }
  TensorTcmAccessor<false> tcm_accessor() & { return TensorTcmAccessor<false>(body_); }
  CoherencyEnforcer::Policy get_accessor_coherence_policy() const { return body_->policy; }
  void set_accessor_coherence_policy(CoherencyEnforcer::Policy policy) const {
    body_->policy = policy;
  }
  const Tensor &fill_(const Scalar &value, NEURON_EDU_WHERE) const;
  Tensor &fill_(const Scalar &value, NEURON_EDU_WHERE);
};

}  // namespace at
