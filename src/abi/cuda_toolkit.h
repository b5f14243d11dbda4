/* Where the libraries of NVIDIA's CUDA toolkit are: NVRTC, cuBLASLt and CUPTI are often not on the
 * loader's path. */
#ifndef RIDGE_ABI_CUDA_TOOLKIT_H
#define RIDGE_ABI_CUDA_TOOLKIT_H

enum { TOOLKIT_VERSIONS_MAX = 5 };

/* One library and what its file is called in each major version. */
struct toolkit_library {
    const char *variable;  /* of the environment: a path that is taken before all else */
    const char *companion; /* pattern of what it loads by name alone; NULL when there is nothing */
    struct {
        int major;
        const char *file;
    } versions[TOOLKIT_VERSIONS_MAX]; /* newest first; a NULL file ends them */
};

/* The library opened, or NULL. Versions up to `major` (0: any) are looked for before newer ones.
 * When the variable is set, nothing but its path is tried. What everybody may write to is passed
 * over. */
void *toolkit_library_find(const struct toolkit_library *library, int major);

#endif
