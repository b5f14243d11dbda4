/* CUPTI as a table of function pointers, loaded at the first call.
 *
 * A missing, old or refused library is an ordinary failure with a reason. The table lives until the
 * process ends. Tests can replace it.
 */
#ifndef RIDGE_ABI_CUPTI_LIBRARY_H
#define RIDGE_ABI_CUPTI_LIBRARY_H

#include <stdbool.h>

#include "base/status.h"
#include "abi/cupti.h"
#include "abi/cupti_symbols.h"

enum { CUPTI_OLDEST = 18 }; /* of CUDA 11.8, the oldest that tests/abi checks */

#define CUPTI_MEMBER(name, parameters) cupti_result(*name) parameters;
struct cupti {
    CUPTI_SYMBOLS(CUPTI_MEMBER)
    uint32_t version; /* of cuptiGetVersion() */
    bool shared;      /* it was already loaded by others: do not finalize it */
};
#undef CUPTI_MEMBER

/* The library, or NULL and a failed status. If $RIDGE_CUPTI is set, only that file is tried ("off":
 * none). Otherwise a library that is already loaded is used, or an installed one, preferably for
 * this major version of the driver (0: any). Fails without a CUDA driver, because some versions of
 * CUPTI crash without it. */
const struct cupti *cupti_library(int major, struct status *status);

/* The path of that library. It is loaded, but not called. */
bool cupti_locate(int major, char *path, size_t size, struct status *status);

/* Explains a failed call in the status; returns false. */
bool cupti_call_failed(const struct cupti *cupti, cupti_result result, const char *call,
                       struct status *status);

/* The version of the toolkit: "13.0". */
enum { CUPTI_VERSION_TEXT = 24 };
void cupti_version_text(uint32_t version, char text[CUPTI_VERSION_TEXT]);

/* For tests: use this table, or fail when its version is too old; NULL: the machine's own. */
void cupti_use(const struct cupti *cupti);

#endif
