/* Loads NVIDIA's libraries. A library that lacks a symbol of its table is not used. */
#include "abi/cuda_driver.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/library.h"
#include "abi/cuda_toolkit.h"

#define DRIVER_SYMBOL(name, symbol, parameters) {symbol, offsetof(struct cuda_driver, name)},
#define NVRTC_SYMBOL(name, symbol, parameters) {symbol, offsetof(struct cuda_nvrtc, name)},
#define BLAS_SYMBOL(name, symbol, parameters) {symbol, offsetof(struct cuda_blas, name)},
static const struct library_symbol driver_symbols[] = {CUDA_DRIVER_SYMBOLS(DRIVER_SYMBOL){NULL, 0}};
static const struct library_symbol nvrtc_symbols[] = {NVRTC_SYMBOLS(NVRTC_SYMBOL){NULL, 0}};
static const struct library_symbol blas_symbols[] = {BLAS_SYMBOLS(BLAS_SYMBOL){NULL, 0}};

static const struct toolkit_library nvrtc_library = {
    "RIDGE_NVRTC",
    "libnvrtc-builtins.so.*",
    {{13, "libnvrtc.so.13"}, {12, "libnvrtc.so.12"}, {11, "libnvrtc.so.11.2"}, {0, NULL}},
};
static const struct toolkit_library blas_library = {
    "RIDGE_CUBLASLT",
    NULL,
    {{13, "libcublasLt.so.13"}, {12, "libcublasLt.so.12"}, {11, "libcublasLt.so.11"}, {0, NULL}},
};

/* Everything below is protected by the lock; the tables themselves do not change. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int preferred_major;
static struct cuda_driver own_driver;
static struct cuda_nvrtc own_nvrtc;
static struct cuda_blas own_blas;
static bool driver_loaded, nvrtc_loaded, blas_loaded;
static const struct cuda_driver *driver_in_use = &own_driver;
static const struct cuda_nvrtc *nvrtc_in_use = &own_nvrtc;
static const struct cuda_blas *blas_in_use = &own_blas;

static bool fill_table(void *table, void *library, const struct library_symbol *symbols,
                       const char *what, struct status *status) {
    const char *missing = library_fill(library, symbols, table);
    if (!missing)
        return true;
    return status_fail(status, STATUS_UNSUPPORTED,
                       "%s is too old: it lacks %s; update it to CUDA 11.4 or later", what,
                       missing);
}

static bool load_driver(struct status *status) {
    static const char *const names[] = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", NULL};
    void *library = library_open(names);
    if (!library)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "no NVIDIA driver on this machine (libcuda.so.1 was not found); install "
                           "the driver to use cuda");
    return fill_table(&own_driver, library, driver_symbols, "the NVIDIA driver", status);
}

/* `package` is its name in pip. */
static bool load_found(const struct toolkit_library *description,
                       const struct library_symbol *symbols, void *table, const char *what,
                       const char *package, struct status *status) {
    void *library = toolkit_library_find(description, preferred_major);
    const char *chosen = getenv(description->variable);
    if (!library && chosen && *chosen)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "%s is %s, which cannot be loaded; correct or unset it",
                           description->variable, chosen);
    if (!library)
        return status_fail(
            status, STATUS_UNSUPPORTED,
            "%s was not found (%s or an older one); install the CUDA toolkit, or pip "
            "install %s, or set %s to the library's path",
            what, description->versions[0].file, package, description->variable);
    return fill_table(table, library, symbols, what, status);
}

const struct cuda_driver *cuda_driver(struct status *status) {
    pthread_mutex_lock(&lock);
    if (driver_in_use == &own_driver && !driver_loaded)
        driver_loaded = load_driver(status);
    bool ready = driver_in_use != &own_driver || driver_loaded;
    const struct cuda_driver *driver = ready ? driver_in_use : NULL;
    pthread_mutex_unlock(&lock);
    return driver;
}

const struct cuda_nvrtc *cuda_nvrtc(struct status *status) {
    pthread_mutex_lock(&lock);
    if (nvrtc_in_use == &own_nvrtc && !nvrtc_loaded)
        nvrtc_loaded = load_found(&nvrtc_library, nvrtc_symbols, &own_nvrtc,
                                  "NVIDIA's run-time compiler", "nvidia-cuda-nvrtc", status);
    bool ready = nvrtc_in_use != &own_nvrtc || nvrtc_loaded;
    const struct cuda_nvrtc *nvrtc = ready ? nvrtc_in_use : NULL;
    pthread_mutex_unlock(&lock);
    return nvrtc;
}

const struct cuda_blas *cuda_blas(struct status *status) {
    pthread_mutex_lock(&lock);
    if (blas_in_use == &own_blas && !blas_loaded)
        blas_loaded =
            load_found(&blas_library, blas_symbols, &own_blas, "cuBLASLt", "nvidia-cublas", status);
    bool ready = blas_in_use != &own_blas || blas_loaded;
    const struct cuda_blas *blas = ready ? blas_in_use : NULL;
    pthread_mutex_unlock(&lock);
    return blas;
}

void cuda_prefer_version(int major) {
    pthread_mutex_lock(&lock);
    preferred_major = major;
    pthread_mutex_unlock(&lock);
}

void cuda_use_driver(const struct cuda_driver *driver) {
    pthread_mutex_lock(&lock);
    driver_in_use = driver ? driver : &own_driver;
    pthread_mutex_unlock(&lock);
}

void cuda_use_nvrtc(const struct cuda_nvrtc *nvrtc) {
    pthread_mutex_lock(&lock);
    nvrtc_in_use = nvrtc ? nvrtc : &own_nvrtc;
    pthread_mutex_unlock(&lock);
}

void cuda_use_blas(const struct cuda_blas *blas) {
    pthread_mutex_lock(&lock);
    blas_in_use = blas ? blas : &own_blas;
    pthread_mutex_unlock(&lock);
}
