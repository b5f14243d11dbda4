/* Where NVIDIA's toolkit libraries are: they are often not on the loader's path. */
#ifndef RIDGE_DEVICE_CUDA_SEARCH_H
#define RIDGE_DEVICE_CUDA_SEARCH_H

/* One library and what its file is called in each major version. */
struct cuda_library {
    const char *variable;  /* of the environment: a path that is taken before all else */
    const char *companion; /* pattern of what it loads by name alone; NULL when there is nothing */
    struct {
        int major;
        const char *file;
    } versions[4]; /* newest first; a NULL file ends them */
};

/* The library opened, or NULL. Versions up to `major` (0: any) are looked for before newer ones.
 * When the variable is set, nothing but its path is tried. */
void *cuda_library_find(const struct cuda_library *library, int major);

#endif
