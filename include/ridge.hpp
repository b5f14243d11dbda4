/* ridge.hpp: ridge.h for C++11: handles that release themselves, operators, exceptions.
 *
 *   #include <cstdio>
 *   #include <ridge.hpp>
 *
 *   int main() {
 *       ridge::Device device("cpu");
 *       auto x = ridge::randn(device, RIDGE_F32, {4, 256}, 1);
 *       auto w = ridge::randn(device, RIDGE_F32, {256, 10}, 2);
 *       auto y = ridge::softmax(ridge::matmul(x, w) * 0.5 + 1.0, -1);
 *       for (float value : y.to_floats())
 *           std::printf("%g\n", value);
 *   }
 *
 * Header-only and optional: each function is the one of ridge.h with the same name, which has the
 * documentation. A failure throws ridge::Error with its message. A Tensor owns one handle: copies
 * share the data, as ridge_retain() does. A Device must outlive what is on it. Functions that write
 * to several places return a struct or a vector.
 */
#ifndef RIDGE_HPP
#define RIDGE_HPP

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ridge.h"

namespace ridge {

using Shape = std::vector<int64_t>;

class Error : public std::runtime_error {
  public:
    Error() : std::runtime_error(ridge_error_message()), code_(ridge_error_code()) {
        ridge_error_clear();
    }
    enum ridge_error code() const { return code_; }

  private:
    enum ridge_error code_;
};

inline void check(bool ok) {
    if (!ok)
        throw Error();
}

namespace detail {

/* A destructor does not change the thread's error. */
template <typename Release> void quietly(Release release) {
    bool clean = ridge_error_code() == RIDGE_OK;
    release();
    if (clean)
        ridge_error_clear();
}

/* A handle that is released once and not copied. */
template <typename Handle, void (*release)(Handle *)> class Owner {
  public:
    explicit Owner(Handle *handle) : handle_(handle) { check(handle != nullptr); }
    Owner(Owner &&other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
    Owner &operator=(Owner &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    Owner(const Owner &) = delete;
    Owner &operator=(const Owner &) = delete;
    ~Owner() {
        if (handle_)
            quietly([this] { release(handle_); });
    }
    Handle *get() const { return handle_; }
    /* The handle, which the caller then owns. */
    Handle *take() {
        Handle *handle = handle_;
        handle_ = nullptr;
        return handle;
    }

  private:
    Handle *handle_;
};

} // namespace detail

/* ---- Devices ---------------------------------------------------------------------------- */

inline std::vector<ridge_device_info> devices() {
    std::vector<ridge_device_info> rows(ridge_device_list(nullptr, 0));
    rows.resize(std::min(rows.size(), ridge_device_list(rows.data(), rows.size())));
    return rows;
}

class Device : public detail::Owner<ridge_device, ridge_device_close> {
  public:
    explicit Device(const char *name = nullptr) : Owner(ridge_device_open(name)) {}
    explicit Device(const ridge_device_options &options)
        : Owner(ridge_device_open_with(&options)) {}

    ridge_device_info describe() const {
        ridge_device_info info;
        check(ridge_device_describe(get(), &info));
        return info;
    }
    void synchronize() const { check(ridge_synchronize(get())); }
    unsigned queue_count() const { return ridge_queue_count(get()); }
    void queue_use(unsigned queue) const { check(ridge_queue_use(get(), queue)); }
    void queue_wait(unsigned queue) const { check(ridge_queue_wait(get(), queue)); }

    struct ridge_pool_stats pool_stats() const {
        struct ridge_pool_stats stats;
        check(ridge_pool_stats(get(), &stats));
        return stats;
    }
    void pool_set_capacity(unsigned buffers) const {
        check(ridge_pool_set_capacity(get(), buffers));
    }
    void pool_shrink_to_fit(uint64_t bytes) const { check(ridge_pool_shrink_to_fit(get(), bytes)); }
    void pool_clear() const { check(ridge_pool_clear(get())); }
    void pool_clear_size(uint64_t bytes) const { check(ridge_pool_clear_size(get(), bytes)); }

    void trace_begin(const std::string &path) const {
        check(ridge_trace_begin(get(), path.c_str()));
    }
    void trace_end() const { check(ridge_trace_end(get())); }
    void trace_pause() const { check(ridge_trace_pause(get())); }
    void trace_resume() const { check(ridge_trace_resume(get())); }
    void region_begin() const { check(ridge_region_begin(get())); }
    ridge_region region_end() const {
        ridge_region region;
        check(ridge_region_end(get(), &region));
        return region;
    }
    void tape_begin() const { check(ridge_tape_begin(get())); }
    void tape_end() const { check(ridge_tape_end(get())); }
};

/* A named part of the trace, from construction to destruction. */
class Range {
  public:
    Range(const Device &device, const char *name) : device_(device.get()) {
        ridge_range_begin(device_, name);
    }
    ~Range() { ridge_range_end(device_); }
    Range(const Range &) = delete;
    Range &operator=(const Range &) = delete;

  private:
    ridge_device *device_;
};

/* Tensors of this thread made through ridge.h between construction and destruction are released; a
 * Tensor needs none. */
class Scope {
  public:
    Scope() { ridge_scope_begin(); }
    ~Scope() { ridge_scope_end(); }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;
};

/* ---- Tensors ---------------------------------------------------------------------------- */

class Tensor {
  public:
    /* None, for operands that are optional. */
    Tensor() : handle_(nullptr) {}
    /* Owns the handle, which a function of ridge.h returned; throws if that failed. */
    explicit Tensor(ridge_tensor *handle) : handle_(handle) { check(handle != nullptr); }
    Tensor(const Tensor &other) : handle_(nullptr) {
        if (other.handle_)
            check((handle_ = ridge_retain(other.handle_)) != nullptr);
    }
    Tensor(Tensor &&other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
    Tensor &operator=(Tensor other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Tensor() {
        if (handle_)
            detail::quietly([this] { ridge_release(handle_); });
    }
    explicit operator bool() const { return handle_ != nullptr; }
    ridge_tensor *get() const { return handle_; }
    ridge_tensor *take() {
        ridge_tensor *handle = handle_;
        handle_ = nullptr;
        return handle;
    }
    /* Out of the innermost Scope. */
    Tensor &keep() {
        check(ridge_keep(handle_) != nullptr);
        return *this;
    }

    enum ridge_dtype dtype() const { return ridge_tensor_dtype(handle_); }
    unsigned rank() const { return ridge_tensor_rank(handle_); }
    int64_t size(int axis) const { return ridge_tensor_size(handle_, axis); }
    int64_t stride(int axis) const { return ridge_tensor_stride(handle_, axis); }
    int64_t count() const { return ridge_tensor_count(handle_); }
    size_t bytes() const { return ridge_tensor_bytes(handle_); }
    bool is_contiguous() const { return ridge_tensor_contiguous(handle_); }
    ridge_device *device() const { return ridge_tensor_device(handle_); }
    Shape sizes() const {
        Shape sizes(rank());
        for (size_t axis = 0; axis < sizes.size(); axis++)
            sizes[axis] = size(static_cast<int>(axis));
        return sizes;
    }

    void *data() const {
        void *address = ridge_tensor_data(handle_);
        check(address != nullptr);
        return address;
    }
    void to_host(void *data, size_t bytes) const { check(ridge_to_host(handle_, data, bytes)); }
    std::vector<float> to_floats() const {
        std::vector<float> values(static_cast<size_t>(count()));
        check(ridge_to_floats(handle_, values.data(), values.size()));
        return values;
    }
    void assign(const Tensor &source) const { check(ridge_assign(handle_, source.get())); }
    void update(const Tensor &source, int axis, const Tensor &position) const {
        check(ridge_update(handle_, source.get(), axis, position.get()));
    }
    DLManagedTensor *to_dlpack() const {
        DLManagedTensor *managed = ridge_to_dlpack(handle_);
        check(managed != nullptr);
        return managed;
    }
    DLManagedTensorVersioned *to_dlpack_versioned() const {
        DLManagedTensorVersioned *managed = ridge_to_dlpack_versioned(handle_);
        check(managed != nullptr);
        return managed;
    }

  private:
    ridge_tensor *handle_;
};

namespace detail {

inline unsigned length(const Shape &sizes) {
    return static_cast<unsigned>(sizes.size());
}
inline std::vector<ridge_tensor *> handles(const std::vector<Tensor> &tensors) {
    std::vector<ridge_tensor *> handles;
    for (const Tensor &tensor : tensors)
        handles.push_back(tensor.get());
    return handles;
}
inline std::vector<Tensor> owned(const std::vector<ridge_tensor *> &handles) {
    std::vector<Tensor> tensors;
    for (ridge_tensor *handle : handles)
        tensors.emplace_back(handle);
    return tensors;
}

} // namespace detail

inline Tensor from_host(const Device &device, enum ridge_dtype dtype, const Shape &sizes,
                        const void *data) {
    return Tensor(ridge_from_host(device.get(), dtype, detail::length(sizes), sizes.data(), data));
}
inline Tensor from_floats(const Device &device, enum ridge_dtype dtype, const Shape &sizes,
                          const std::vector<float> &values) {
    size_t count = 1;
    for (int64_t size : sizes)
        count *= static_cast<size_t>(size);
    if (values.size() != count)
        throw std::invalid_argument("ridge::from_floats: the sizes do not have as many values");
    return Tensor(
        ridge_from_floats(device.get(), dtype, detail::length(sizes), sizes.data(), values.data()));
}
inline Tensor wrap_host(const Device &device, enum ridge_dtype dtype, const Shape &sizes,
                        void *data, const Shape &strides = {}, void (*release)(void *) = nullptr,
                        void *context = nullptr) {
    return Tensor(ridge_wrap_host(device.get(), dtype, detail::length(sizes), sizes.data(),
                                  strides.empty() ? nullptr : strides.data(), data, release,
                                  context));
}
inline Tensor from_dlpack(const Device &device, DLManagedTensor *managed) {
    return Tensor(ridge_from_dlpack(device.get(), managed));
}
inline Tensor from_dlpack(const Device &device, DLManagedTensorVersioned *managed) {
    return Tensor(ridge_from_dlpack_versioned(device.get(), managed));
}
inline Tensor zeros(const Device &device, enum ridge_dtype dtype, const Shape &sizes) {
    return Tensor(ridge_zeros(device.get(), dtype, detail::length(sizes), sizes.data()));
}
inline Tensor full(const Device &device, enum ridge_dtype dtype, const Shape &sizes, double value) {
    return Tensor(ridge_full(device.get(), dtype, detail::length(sizes), sizes.data(), value));
}
inline Tensor arange(const Device &device, enum ridge_dtype dtype, int64_t count, double start = 0,
                     double step = 1) {
    return Tensor(ridge_arange(device.get(), dtype, count, start, step));
}
inline Tensor rand(const Device &device, enum ridge_dtype dtype, const Shape &sizes,
                   uint64_t seed) {
    return Tensor(ridge_rand(device.get(), dtype, detail::length(sizes), sizes.data(), seed));
}
inline Tensor randn(const Device &device, enum ridge_dtype dtype, const Shape &sizes,
                    uint64_t seed) {
    return Tensor(ridge_randn(device.get(), dtype, detail::length(sizes), sizes.data(), seed));
}

/* ---- Views, joining and parting ----------------------------------------------------------- */

inline Tensor reshape(const Tensor &x, const Shape &sizes) {
    return Tensor(ridge_reshape(x.get(), detail::length(sizes), sizes.data()));
}
inline Tensor transpose(const Tensor &x, int axis_a = -2, int axis_b = -1) {
    return Tensor(ridge_transpose(x.get(), axis_a, axis_b));
}
inline Tensor permute(const Tensor &x, const std::vector<unsigned> &axes) {
    if (axes.size() != x.rank())
        throw std::invalid_argument("ridge::permute: there are not as many axes");
    return Tensor(ridge_permute(x.get(), axes.data()));
}
inline Tensor slice(const Tensor &x, int axis, int64_t begin, int64_t end = INT64_MAX,
                    int64_t step = 1) {
    return Tensor(ridge_slice(x.get(), axis, begin, end, step));
}
inline Tensor select(const Tensor &x, int axis, int64_t index) {
    return Tensor(ridge_select(x.get(), axis, index));
}
inline Tensor broadcast(const Tensor &x, const Shape &sizes) {
    return Tensor(ridge_broadcast(x.get(), detail::length(sizes), sizes.data()));
}
inline Tensor unsqueeze(const Tensor &x, int axis) {
    return Tensor(ridge_unsqueeze(x.get(), axis));
}
inline Tensor squeeze(const Tensor &x, int axis) {
    return Tensor(ridge_squeeze(x.get(), axis));
}
inline Tensor contiguous(const Tensor &x) {
    return Tensor(ridge_contiguous(x.get()));
}
inline Tensor cat(const std::vector<Tensor> &parts, int axis) {
    return Tensor(
        ridge_cat(detail::handles(parts).data(), static_cast<unsigned>(parts.size()), axis));
}
inline Tensor stack(const std::vector<Tensor> &parts, int axis) {
    return Tensor(
        ridge_stack(detail::handles(parts).data(), static_cast<unsigned>(parts.size()), axis));
}
inline std::vector<Tensor> split(const Tensor &x, unsigned count, int axis) {
    std::vector<ridge_tensor *> parts(count);
    check(ridge_split(x.get(), count, axis, parts.data()));
    return detail::owned(parts);
}
inline std::vector<Tensor> unstack(const Tensor &x, int axis) {
    std::vector<ridge_tensor *> parts(static_cast<size_t>(x.size(axis)));
    check(ridge_unstack(x.get(), axis, parts.data()));
    return detail::owned(parts);
}

/* ---- Elementwise ------------------------------------------------------------------------ */

#define RIDGE_CPP_UNARY(name)                                                                      \
    inline Tensor name(const Tensor &x) {                                                          \
        return Tensor(ridge_##name(x.get()));                                                      \
    }
#define RIDGE_CPP_BINARY(name)                                                                     \
    inline Tensor name(const Tensor &x, const Tensor &y) {                                         \
        return Tensor(ridge_##name(x.get(), y.get()));                                             \
    }                                                                                              \
    inline Tensor name(const Tensor &x, double y) {                                                \
        return Tensor(ridge_##name##_scalar(x.get(), y));                                          \
    }
#define RIDGE_CPP_TERNARY(name)                                                                    \
    inline Tensor name(const Tensor &x, const Tensor &y, const Tensor &z) {                        \
        return Tensor(ridge_##name(x.get(), y.get(), z.get()));                                    \
    }

RIDGE_CPP_BINARY(add)
RIDGE_CPP_BINARY(sub)
RIDGE_CPP_BINARY(mul)
RIDGE_CPP_BINARY(div)
RIDGE_CPP_BINARY(mod)
RIDGE_CPP_BINARY(pow)
RIDGE_CPP_BINARY(min)
RIDGE_CPP_BINARY(max)
RIDGE_CPP_BINARY(equal)
RIDGE_CPP_BINARY(not_equal)
RIDGE_CPP_BINARY(less)
RIDGE_CPP_BINARY(less_equal)
RIDGE_CPP_BINARY(greater)
RIDGE_CPP_BINARY(greater_equal)
RIDGE_CPP_BINARY(logical_and)
RIDGE_CPP_BINARY(logical_or)
RIDGE_CPP_UNARY(logical_not)
RIDGE_CPP_UNARY(neg)
RIDGE_CPP_UNARY(abs)
RIDGE_CPP_UNARY(sign)
RIDGE_CPP_UNARY(square)
RIDGE_CPP_UNARY(reciprocal)
RIDGE_CPP_UNARY(floor)
RIDGE_CPP_UNARY(ceil)
RIDGE_CPP_UNARY(round)
RIDGE_CPP_UNARY(sin)
RIDGE_CPP_UNARY(cos)
RIDGE_CPP_UNARY(tan)
RIDGE_CPP_UNARY(exp)
RIDGE_CPP_UNARY(log)
RIDGE_CPP_UNARY(log1p)
RIDGE_CPP_UNARY(sqrt)
RIDGE_CPP_UNARY(rsqrt)
RIDGE_CPP_UNARY(tanh)
RIDGE_CPP_UNARY(erf)
RIDGE_CPP_UNARY(sigmoid)
RIDGE_CPP_UNARY(relu)
RIDGE_CPP_UNARY(gelu)
RIDGE_CPP_UNARY(gelu_tanh)
RIDGE_CPP_UNARY(silu)
RIDGE_CPP_TERNARY(where)
RIDGE_CPP_TERNARY(clamp)
RIDGE_CPP_BINARY(add_relu)
RIDGE_CPP_BINARY(mul_relu)
RIDGE_CPP_TERNARY(affine)

#undef RIDGE_CPP_UNARY
#undef RIDGE_CPP_BINARY
#undef RIDGE_CPP_TERNARY

inline Tensor expression(const char *text, const std::vector<Tensor> &operands) {
    return Tensor(ridge_expression(text, detail::handles(operands).data(),
                                   static_cast<unsigned>(operands.size())));
}
inline Tensor cast(const Tensor &x, enum ridge_dtype dtype) {
    return Tensor(ridge_cast(x.get(), dtype));
}

inline Tensor operator-(const Tensor &x) {
    return neg(x);
}
#define RIDGE_CPP_OPERATOR(symbol, name)                                                           \
    inline Tensor operator symbol(const Tensor &x, const Tensor &y) {                              \
        return name(x, y);                                                                         \
    }                                                                                              \
    inline Tensor operator symbol(const Tensor &x, double y) {                                     \
        return name(x, y);                                                                         \
    }
RIDGE_CPP_OPERATOR(+, add)
RIDGE_CPP_OPERATOR(-, sub)
RIDGE_CPP_OPERATOR(*, mul)
RIDGE_CPP_OPERATOR(/, div)
RIDGE_CPP_OPERATOR(%, mod)
RIDGE_CPP_OPERATOR(<, less)
RIDGE_CPP_OPERATOR(<=, less_equal)
RIDGE_CPP_OPERATOR(>, greater)
RIDGE_CPP_OPERATOR(>=, greater_equal)
#undef RIDGE_CPP_OPERATOR
inline Tensor operator+(double x, const Tensor &y) {
    return add(y, x);
}
inline Tensor operator*(double x, const Tensor &y) {
    return mul(y, x);
}
inline Tensor operator-(double x, const Tensor &y) {
    return add(neg(y), x);
}

/* ---- Reductions, norms, indices ----------------------------------------------------------- */

#define RIDGE_CPP_REDUCE(name)                                                                     \
    inline Tensor name(const Tensor &x, const std::vector<int> &axes = {}, bool keep = false) {    \
        return Tensor(                                                                             \
            ridge_##name(x.get(), static_cast<unsigned>(axes.size()), axes.data(), keep));         \
    }
RIDGE_CPP_REDUCE(sum)
RIDGE_CPP_REDUCE(mean)
RIDGE_CPP_REDUCE(amax)
RIDGE_CPP_REDUCE(amin)
#undef RIDGE_CPP_REDUCE
inline Tensor argmax(const Tensor &x, int axis, bool keep = false) {
    return Tensor(ridge_argmax(x.get(), axis, keep));
}
inline Tensor argmin(const Tensor &x, int axis, bool keep = false) {
    return Tensor(ridge_argmin(x.get(), axis, keep));
}
inline Tensor softmax(const Tensor &x, int axis) {
    return Tensor(ridge_softmax(x.get(), axis));
}
inline Tensor log_softmax(const Tensor &x, int axis) {
    return Tensor(ridge_log_softmax(x.get(), axis));
}
inline Tensor cumsum(const Tensor &x, int axis) {
    return Tensor(ridge_cumsum(x.get(), axis));
}
inline Tensor layer_norm(const Tensor &x, const Tensor &weight = Tensor(),
                         const Tensor &bias = Tensor(), float epsilon = 1e-5f) {
    return Tensor(ridge_layer_norm(x.get(), weight.get(), bias.get(), epsilon));
}
inline Tensor rms_norm(const Tensor &x, const Tensor &weight = Tensor(), float epsilon = 1e-5f) {
    return Tensor(ridge_rms_norm(x.get(), weight.get(), epsilon));
}
inline Tensor group_norm(const Tensor &x, unsigned groups, const Tensor &weight = Tensor(),
                         const Tensor &bias = Tensor(), float epsilon = 1e-5f) {
    return Tensor(ridge_group_norm(x.get(), groups, weight.get(), bias.get(), epsilon));
}
inline Tensor gather(const Tensor &x, int axis, const Tensor &indices) {
    return Tensor(ridge_gather(x.get(), axis, indices.get()));
}
inline Tensor scatter_add(const Tensor &x, int axis, const Tensor &indices, const Tensor &source) {
    return Tensor(ridge_scatter_add(x.get(), axis, indices.get(), source.get()));
}
inline Tensor argsort(const Tensor &x, int axis, bool descending = false) {
    return Tensor(ridge_argsort(x.get(), axis, descending));
}
/* Values and indices. */
inline std::pair<Tensor, Tensor> topk(const Tensor &x, int64_t count, int axis = -1) {
    ridge_tensor *indices = nullptr;
    Tensor values(ridge_topk(x.get(), count, axis, &indices));
    return std::make_pair(std::move(values), Tensor(indices));
}
inline Tensor sample(const Tensor &logits, const Tensor &step, float temperature, int64_t top_k,
                     float top_p, uint64_t seed) {
    return Tensor(ridge_sample(logits.get(), step.get(), temperature, top_k, top_p, seed));
}

/* ---- Convolution ------------------------------------------------------------------------ */

/* A window with every member at its default. */
inline ridge_window window() {
    return ridge_window();
}
#define RIDGE_CPP_CONVOLUTION(name)                                                                \
    inline Tensor name(const Tensor &x, const Tensor &weight, const Tensor &bias = Tensor(),       \
                       const ridge_window &placed = window()) {                                    \
        return Tensor(ridge_##name(x.get(), weight.get(), bias.get(), &placed));                   \
    }
RIDGE_CPP_CONVOLUTION(conv1d)
RIDGE_CPP_CONVOLUTION(conv2d)
RIDGE_CPP_CONVOLUTION(conv_transpose1d)
RIDGE_CPP_CONVOLUTION(conv_transpose2d)
#undef RIDGE_CPP_CONVOLUTION
#define RIDGE_CPP_WINDOWS(name, axes)                                                              \
    inline Tensor name(const Tensor &x, const Shape &size,                                         \
                       const ridge_window &placed = window()) {                                    \
        if (size.size() != axes)                                                                   \
            throw std::invalid_argument("ridge::" #name                                            \
                                        ": the window has another number of axes");                \
        return Tensor(ridge_##name(x.get(), size.data(), &placed));                                \
    }
RIDGE_CPP_WINDOWS(max_pool1d, 1)
RIDGE_CPP_WINDOWS(max_pool2d, 2)
RIDGE_CPP_WINDOWS(avg_pool1d, 1)
RIDGE_CPP_WINDOWS(avg_pool2d, 2)
RIDGE_CPP_WINDOWS(unfold, 2)
#undef RIDGE_CPP_WINDOWS
inline Tensor pad(const Tensor &x, const Shape &before, const Shape &after, double value = 0) {
    if (before.size() != x.rank() || after.size() != x.rank())
        throw std::invalid_argument("ridge::pad: there are not as many axes");
    return Tensor(ridge_pad(x.get(), before.data(), after.data(), value));
}

/* ---- Matrices and models ---------------------------------------------------------------- */

inline Tensor matmul(const Tensor &a, const Tensor &b) {
    return Tensor(ridge_matmul(a.get(), b.get()));
}
inline Tensor matmul_activation(const Tensor &a, const Tensor &b, const Tensor &bias,
                                enum ridge_activation activation) {
    return Tensor(ridge_matmul_activation(a.get(), b.get(), bias.get(), activation));
}
inline Tensor linear(const Tensor &x, const Tensor &w, const Tensor &bias = Tensor(),
                     enum ridge_activation activation = RIDGE_ACTIVATION_NONE) {
    return Tensor(ridge_linear(x.get(), w.get(), bias.get(), activation));
}
inline Tensor gated_mlp(const Tensor &x, const Tensor &gate, const Tensor &up,
                        const Tensor &down = Tensor()) {
    return Tensor(ridge_gated_mlp(x.get(), gate.get(), up.get(), down.get()));
}
inline Tensor lora(const Tensor &x, const Tensor &w, const Tensor &a, const Tensor &b,
                   float scale) {
    return Tensor(ridge_lora(x.get(), w.get(), a.get(), b.get(), scale));
}
inline Tensor quantize(const Tensor &x, enum ridge_dtype dtype) {
    return Tensor(ridge_quantize(x.get(), dtype));
}
inline Tensor dequantize(const Tensor &x, enum ridge_dtype dtype = RIDGE_F32) {
    return Tensor(ridge_dequantize(x.get(), dtype));
}
inline Tensor embedding(const Tensor &table, const Tensor &indices) {
    return Tensor(ridge_embedding(table.get(), indices.get()));
}
inline Tensor rope(const Tensor &x, const Tensor &positions, float base = 10000,
                   bool interleaved = false) {
    return Tensor(ridge_rope(x.get(), positions.get(), base, interleaved));
}
inline Tensor attention(const Tensor &q, const Tensor &k, const Tensor &v, float scale,
                        bool causal = false) {
    return Tensor(ridge_attention(q.get(), k.get(), v.get(), scale, causal));
}
inline Tensor attention_masked(const Tensor &q, const Tensor &k, const Tensor &v, float scale,
                               const ridge_attention_mask &mask) {
    return Tensor(ridge_attention_masked(q.get(), k.get(), v.get(), scale, &mask));
}
/* y and the state after the last token. */
inline std::pair<Tensor, Tensor> wkv7(const Tensor &r, const Tensor &w, const Tensor &k,
                                      const Tensor &v, const Tensor &a, const Tensor &b,
                                      const Tensor &state) {
    ridge_tensor *after = nullptr;
    Tensor y(ridge_wkv7(r.get(), w.get(), k.get(), v.get(), a.get(), b.get(), state.get(), &after));
    return std::make_pair(std::move(y), Tensor(after));
}
inline Tensor custom(const ridge_custom_kernel &kernel, const std::vector<Tensor> &inputs,
                     enum ridge_dtype dtype, const Shape &sizes) {
    return Tensor(ridge_custom(&kernel, detail::handles(inputs).data(),
                               static_cast<unsigned>(inputs.size()), dtype, detail::length(sizes),
                               sizes.data()));
}
inline Tensor token_shift(const Tensor &x, const Tensor &previous, const Tensor &mix = Tensor()) {
    return Tensor(ridge_token_shift(x.get(), previous.get(), mix.get()));
}

/* ---- Compiling -------------------------------------------------------------------------- */

/* A compiled function. What the function captures by value lives as long as the program. */
class Program {
  public:
    using Function = std::function<std::vector<Tensor>(const std::vector<Tensor> &)>;

    Program(Function function, const std::vector<Tensor> &inputs, unsigned output_count)
        : state_(new State{std::move(function), inputs.size(), output_count, nullptr}),
          program_(compile(*state_, inputs)) {}

    std::vector<Tensor> operator()(const std::vector<Tensor> &inputs) const {
        if (inputs.size() != state_->inputs)
            throw std::invalid_argument("ridge::Program: it has another number of inputs");
        std::vector<ridge_tensor *> outputs(state_->outputs);
        bool ok = ridge_program_run(program_.get(), detail::handles(inputs).data(), outputs.data());
        rethrow(*state_);
        check(ok);
        return detail::owned(outputs);
    }
    ridge_program_info describe() const {
        ridge_program_info info;
        check(ridge_program_describe(program_.get(), &info));
        return info;
    }

  private:
    struct State {
        Function function;
        size_t inputs;
        unsigned outputs;
        std::exception_ptr thrown;
    };

    static void rethrow(State &state) {
        if (state.thrown) {
            std::exception_ptr thrown = state.thrown;
            state.thrown = nullptr;
            ridge_error_clear();
            std::rethrow_exception(thrown);
        }
    }
    /* An exception must not pass through C. */
    static bool call(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
        State &state = *static_cast<State *>(context);
        try {
            std::vector<Tensor> given;
            for (size_t i = 0; i < state.inputs; i++)
                given.emplace_back(ridge_retain(inputs[i]));
            std::vector<Tensor> made = state.function(given);
            if (made.size() != state.outputs)
                throw std::logic_error("ridge::Program: it returns another number of outputs");
            for (size_t i = 0; i < made.size(); i++)
                outputs[i] = made[i].take();
            return true;
        } catch (...) {
            state.thrown = std::current_exception();
            return false;
        }
    }
    static ridge_program *compile(State &state, const std::vector<Tensor> &inputs) {
        ridge_program *program = ridge_compile(call, &state, detail::handles(inputs).data(),
                                               static_cast<unsigned>(inputs.size()), state.outputs);
        rethrow(state);
        return program;
    }

    std::unique_ptr<State> state_;
    detail::Owner<ridge_program, ridge_program_release> program_;
};

/* ---- Training --------------------------------------------------------------------------- */

inline std::vector<Tensor> gradients(const Tensor &loss, const std::vector<Tensor> &parameters) {
    std::vector<ridge_tensor *> made(parameters.size());
    check(ridge_gradients(loss.get(), detail::handles(parameters).data(),
                          static_cast<unsigned>(parameters.size()), made.data()));
    return detail::owned(made);
}
inline Tensor detach(const Tensor &x) {
    return Tensor(ridge_detach(x.get()));
}
inline Tensor cross_entropy(const Tensor &logits, const Tensor &targets) {
    return Tensor(ridge_cross_entropy(logits.get(), targets.get()));
}
inline Tensor mse_loss(const Tensor &x, const Tensor &target) {
    return Tensor(ridge_mse_loss(x.get(), target.get()));
}
inline Tensor l1_loss(const Tensor &x, const Tensor &target) {
    return Tensor(ridge_l1_loss(x.get(), target.get()));
}
inline Tensor bce_loss(const Tensor &logits, const Tensor &target) {
    return Tensor(ridge_bce_loss(logits.get(), target.get()));
}
inline Tensor kl_loss(const Tensor &log_probabilities, const Tensor &target) {
    return Tensor(ridge_kl_loss(log_probabilities.get(), target.get()));
}
inline Tensor dropout(const Tensor &x, double probability, uint64_t seed,
                      const Tensor &step = Tensor()) {
    return Tensor(ridge_dropout(x.get(), probability, seed, step.get()));
}
inline Tensor gradient_norm(const std::vector<Tensor> &gradients) {
    return Tensor(ridge_gradient_norm(detail::handles(gradients).data(),
                                      static_cast<unsigned>(gradients.size())));
}

class Optimizer : public detail::Owner<ridge_optimizer, ridge_optimizer_release> {
  public:
    Optimizer(const std::vector<Tensor> &parameters, const ridge_optimizer_options &options)
        : Owner(ridge_optimizer_create(detail::handles(parameters).data(),
                                       static_cast<unsigned>(parameters.size()), &options)) {}
    void step(const std::vector<Tensor> &gradients) const {
        check(ridge_optimizer_step(get(), detail::handles(gradients).data()));
    }
    /* With the accumulated gradients. */
    void step() const { check(ridge_optimizer_step(get(), nullptr)); }
    void accumulate(const std::vector<Tensor> &gradients) const {
        check(ridge_optimizer_accumulate(get(), detail::handles(gradients).data()));
    }
    Tensor scale_loss(const Tensor &loss) const {
        return Tensor(ridge_optimizer_scale_loss(get(), loss.get()));
    }
    double loss_scale() const { return ridge_optimizer_loss_scale(get()); }
    void set_rate(double rate) const { check(ridge_optimizer_set_rate(get(), rate)); }
};

inline double schedule_rate(const ridge_schedule &schedule, uint64_t step) {
    return ridge_schedule_rate(&schedule, step);
}

/* ---- Model files ------------------------------------------------------------------------ */

/* Values of a file that are not there, or of another kind, are false or empty and no failure. */
class Weights : public detail::Owner<ridge_weights, ridge_weights_close> {
  public:
    explicit Weights(const std::string &path) : Owner(ridge_weights_open(path.c_str())) {}
    std::string format() const { return ridge_weights_format(get()); }
    size_t count() const { return ridge_weights_count(get()); }
    ridge_weight_info info(size_t index) const {
        ridge_weight_info info;
        check(ridge_weights_info(get(), index, &info));
        return info;
    }
    bool find(const std::string &name, ridge_weight_info &info) const {
        return ridge_weights_find(get(), name.c_str(), &info);
    }
    Tensor load(const Device &device, const std::string &name) const {
        return Tensor(ridge_weights_load(get(), device.get(), name.c_str()));
    }
    std::string text(const std::string &key) const {
        size_t length = 0;
        const char *text = ridge_weights_text(get(), key.c_str(), &length);
        return text ? std::string(text, length) : std::string();
    }
    bool integer(const std::string &key, int64_t &value) const {
        return ridge_weights_integer(get(), key.c_str(), &value);
    }
    bool number(const std::string &key, double &value) const {
        return ridge_weights_number(get(), key.c_str(), &value);
    }
    size_t array(const std::string &key) const { return ridge_weights_array(get(), key.c_str()); }
    std::string array_text(const std::string &key, size_t index) const {
        size_t length = 0;
        const char *text = ridge_weights_array_text(get(), key.c_str(), index, &length);
        return text ? std::string(text, length) : std::string();
    }
    bool array_number(const std::string &key, size_t index, double &value) const {
        return ridge_weights_array_number(get(), key.c_str(), index, &value);
    }
};

class WeightsWriter : public detail::Owner<ridge_weights_writer, ridge_weights_abandon> {
  public:
    explicit WeightsWriter(const std::string &path) : Owner(ridge_weights_create(path.c_str())) {}
    void put_text(const std::string &key, const std::string &value) const {
        check(ridge_weights_put_text(get(), key.c_str(), value.c_str()));
    }
    void put_integer(const std::string &key, int64_t value) const {
        check(ridge_weights_put_integer(get(), key.c_str(), value));
    }
    void put_number(const std::string &key, double value) const {
        check(ridge_weights_put_number(get(), key.c_str(), value));
    }
    void put_texts(const std::string &key, const std::vector<std::string> &values) const {
        std::vector<const char *> texts;
        for (const std::string &value : values)
            texts.push_back(value.c_str());
        check(ridge_weights_put_texts(get(), key.c_str(), texts.data(), texts.size()));
    }
    void put_numbers(const std::string &key, const std::vector<float> &values) const {
        check(ridge_weights_put_numbers(get(), key.c_str(), values.data(), values.size()));
    }
    void put_integers(const std::string &key, const std::vector<int32_t> &values) const {
        check(ridge_weights_put_integers(get(), key.c_str(), values.data(), values.size()));
    }
    void put(const std::string &name, const Tensor &tensor) const {
        check(ridge_weights_put(get(), name.c_str(), tensor.get()));
    }
    /* Writes the file; the writer is then done. */
    void finish() { check(ridge_weights_finish(take())); }
};

inline const char *dtype_name(enum ridge_dtype dtype) {
    return ridge_dtype_name(dtype);
}
inline size_t dtype_bytes(enum ridge_dtype dtype, int64_t count) {
    return ridge_dtype_bytes(dtype, count);
}
inline const char *version() {
    return ridge_version();
}

} // namespace ridge

#endif
