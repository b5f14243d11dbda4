/* Finds the libraries of the CUDA toolkit: NVRTC, cuBLASLt and CUPTI are often not on the loader's
 * path. */
#ifndef RIDGE_ABI_CUDA_TOOLKIT_H
#define RIDGE_ABI_CUDA_TOOLKIT_H

enum { TOOLKIT_VERSIONS_MAX = 5 };

/* A library and its file name in each major version. */
struct toolkit_library {
    const char *variable;  /* environment variable with the path to use instead */
    const char *companion; /* pattern of libraries that it loads by name; or NULL */
    struct {
        int major;
        const char *file;
    } versions[TOOLKIT_VERSIONS_MAX]; /* newest first, terminated by a NULL file */
};

/* Opens the library, or returns NULL. Versions up to `major` (0: any) are preferred over newer
 * ones. If the variable is set, only its path is tried. World-writable files are skipped. */
void *toolkit_library_find(const struct toolkit_library *library, int major);

#endif
