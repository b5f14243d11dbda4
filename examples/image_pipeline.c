/* Images through a pipeline as one batch: bytes are stacked, normalized by channel, cut into
 * patches and made into features, and each image gets its own features back.
 *
 *   cc image_pipeline.c $(pkg-config --cflags --libs ridge) -lm -o image_pipeline
 *   ./image_pipeline [DEVICE]
 */
#include <ridge.h>
#include <stdio.h>

enum { IMAGES = 6, SIDE = 32, CHANNELS = 3, PATCH = 8, FEATURES = 16 };
enum { ACROSS = SIDE / PATCH, PATCHES = ACROSS * ACROSS, PIXELS = PATCH * PATCH * CHANNELS };

/* In place of a decoder's output: rings around a center that differs by image. */
static ridge_tensor *load_image(ridge_device *device, int number) {
    static uint8_t pixels[SIDE][SIDE][CHANNELS];
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            int dx = x - 5 * number, dy = y - SIDE / 2;
            for (int c = 0; c < CHANNELS; c++)
                pixels[y][x][c] = (uint8_t)((dx * dx + dy * dy) * (c + 1) / 4);
        }
    return ridge_from_host(device, RIDGE_U8, 3, (int64_t[]){SIDE, SIDE, CHANNELS}, pixels);
}

/* (pixel / 255 - mean) / deviation, as pixel * scale + bias: one kernel. */
static ridge_tensor *normalize(ridge_tensor *batch) {
    static const double mean[CHANNELS] = {0.485, 0.456, 0.406};
    static const double deviation[CHANNELS] = {0.229, 0.224, 0.225};
    float scale[CHANNELS], bias[CHANNELS];
    for (int c = 0; c < CHANNELS; c++) {
        scale[c] = (float)(1 / (255 * deviation[c]));
        bias[c] = (float)(-mean[c] / deviation[c]);
    }
    ridge_device *device = ridge_tensor_device(batch);
    return ridge_affine(ridge_cast(batch, RIDGE_F32),
                        ridge_from_host(device, RIDGE_F32, 1, (int64_t[]){CHANNELS}, scale),
                        ridge_from_host(device, RIDGE_F32, 1, (int64_t[]){CHANNELS}, bias));
}

/* [images, side, side, channels] to [images, patches, pixels of a patch]: views until the last
 * reshape, which no strides can express and which therefore copies. */
static ridge_tensor *cut_patches(ridge_tensor *x) {
    x = ridge_reshape(x, 6, (int64_t[]){IMAGES, ACROSS, PATCH, ACROSS, PATCH, CHANNELS});
    x = ridge_permute(x, (unsigned[]){0, 1, 3, 2, 4, 5});
    return ridge_reshape(x, 3, (int64_t[]){IMAGES, PATCHES, PIXELS});
}

static bool process(ridge_tensor *const *images, ridge_tensor *weight, ridge_tensor **features) {
    ridge_scope_begin();
    ridge_tensor *batch = ridge_stack(images, IMAGES, 0);
    ridge_tensor *patches = cut_patches(normalize(batch));
    ridge_tensor *embedded = ridge_linear(patches, weight, NULL, RIDGE_ACTIVATION_GELU);
    ridge_tensor *pooled = ridge_mean(embedded, 1, (int[]){1}, false); /* over the patches */
    bool ok = ridge_unstack(pooled, 0, features);
    for (int i = 0; ok && i < IMAGES; i++)
        ridge_keep(features[i]);
    ridge_scope_end();
    return ok;
}

static bool run(ridge_device *device) {
    ridge_tensor *images[IMAGES], *features[IMAGES];
    for (int i = 0; i < IMAGES; i++)
        images[i] = load_image(device, i);
    ridge_tensor *weight =
        ridge_mul_scalar(ridge_randn(device, RIDGE_F32, 2, (int64_t[]){FEATURES, PIXELS}, 7), 0.1);
    if (!process(images, weight, features))
        return false;
    for (int i = 0; i < IMAGES; i++) {
        float values[FEATURES];
        if (!ridge_to_host(features[i], values, sizeof values))
            return false;
        printf("image %d:", i);
        for (int k = 0; k < 6; k++)
            printf(" %6.3f", (double)values[k]);
        printf(" ...\n");
    }
    return true;
}

int main(int argc, char **argv) {
    ridge_device *device = ridge_device_open(argc > 1 ? argv[1] : NULL);
    bool ok = device && run(device);
    if (!ok)
        fprintf(stderr, "image_pipeline: %s\n", ridge_error_message());
    ridge_device_close(device);
    return ok ? 0 : 1;
}
