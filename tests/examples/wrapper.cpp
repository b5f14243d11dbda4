// ridge.hpp as a stranger uses it; tests/examples/run.sh compiles and runs it. Exits with the
// number of failed checks.
#include <cmath>
#include <cstdio>
#include <ridge.hpp>

static int failures;
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::printf("line %d: %s\n", __LINE__, #condition);                                    \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

static void arithmetic(const ridge::Device &device) {
    auto x = ridge::from_floats(device, RIDGE_F32, {2, 3}, {1, 2, 3, 4, 5, 6});
    auto y = 2.0 * x + x * x - 1.0;
    CHECK(y.sizes() == (ridge::Shape{2, 3}));
    CHECK(y.to_floats() == (std::vector<float>{2, 7, 14, 23, 34, 47}));
    CHECK((1.0 - x).to_floats()[5] == -5);
    CHECK(ridge::sum(x > 2.0).to_floats()[0] == 4);
    CHECK(ridge::matmul(x, ridge::transpose(x)).to_floats() ==
          (std::vector<float>{14, 32, 32, 77}));
    auto top = ridge::topk(x, 1);
    CHECK(top.first.to_floats() == (std::vector<float>{3, 6}));
    CHECK(top.second.dtype() == RIDGE_I32);
    ridge::Tensor copy = x;
    copy = ridge::slice(copy, 1, 1);
    CHECK(copy.count() == 4 && x.count() == 6 && !ridge::Tensor());
}

static void sharing(const ridge::Device &device) {
    std::vector<float> memory{1, 2, 3, 4};
    auto x = ridge::wrap_host(device, RIDGE_F32, {2, 2}, memory.data(), {1, 2});
    CHECK(x.to_floats() == (std::vector<float>{1, 3, 2, 4}));
    x.assign(x * 10.0);
    device.synchronize();
    CHECK(memory[1] == 20 && x.data() == memory.data());
}

static void failing(const ridge::Device &device) {
    auto x = ridge::zeros(device, RIDGE_F32, {3});
    try {
        ridge::matmul(x, ridge::zeros(device, RIDGE_F32, {4, 4}));
        CHECK(!"it must throw");
    } catch (const ridge::Error &error) {
        CHECK(error.code() == RIDGE_ERROR_USAGE);
        CHECK(std::string(error.what()).find("ridge_matmul") != std::string::npos);
    }
    CHECK(ridge_error_code() == RIDGE_OK);
    try {
        ridge::Program broken(
            [](const std::vector<ridge::Tensor> &) -> std::vector<ridge::Tensor> {
                throw std::runtime_error("mine");
            },
            {x}, 1);
        CHECK(!"it must throw");
    } catch (const std::runtime_error &error) {
        CHECK(std::string(error.what()) == "mine");
    }
}

static void training(const ridge::Device &device) {
    auto w = ridge::zeros(device, RIDGE_F32, {1, 2});
    auto x = ridge::randn(device, RIDGE_F32, {16, 2}, 1);
    auto target = ridge::matmul(x, ridge::from_floats(device, RIDGE_F32, {2, 1}, {3, -1}));
    ridge_optimizer_options options = ridge_optimizer_options();
    options.rate = 0.2;
    ridge::Optimizer optimizer({w}, options);
    ridge::Program step(
        [&](const std::vector<ridge::Tensor> &in) {
            auto loss = ridge::mse_loss(ridge::linear(in[0], w), in[1]);
            optimizer.step(ridge::gradients(loss, {w}));
            return std::vector<ridge::Tensor>{loss};
        },
        {x, target}, 1);
    float loss = 0;
    for (int i = 0; i < 200; i++)
        loss = step({x, target})[0].to_floats()[0];
    CHECK(loss < 1e-6f && step.describe().kernels > 0);
    auto learned = w.to_floats();
    CHECK(std::fabs(learned[0] - 3) < 1e-2f && std::fabs(learned[1] + 1) < 1e-2f);
    ridge_device_options other = ridge_device_options();
    other.name = "cpu";
    ridge::Device second(other);
    device.region_begin();
    step({x, target});
    CHECK(device.region_end().kernels == step.describe().kernels);
}

static void files(const ridge::Device &device, const char *path) {
    ridge::WeightsWriter writer(path);
    writer.put_text("general.name", "made up");
    writer.put("w", ridge::arange(device, RIDGE_F32, 5));
    writer.finish();
    ridge::Weights file(path);
    CHECK(file.count() == 1 && file.text("general.name") == "made up");
    CHECK(file.load(device, "w").to_floats()[4] == 4);
}

int main(int argc, char **argv) {
    ridge::Device device("cpu");
    arithmetic(device);
    sharing(device);
    failing(device);
    training(device);
    files(device, argc > 1 ? argv[1] : "wrapper.gguf");
    CHECK(ridge_error_code() == RIDGE_OK);
    return failures;
}
