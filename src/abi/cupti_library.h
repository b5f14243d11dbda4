/* CUPTI as a table of function pointers, loaded when first asked for.
 *
 * That it is not there, is too old or is refused are ordinary failures that say why. The table
 * lives until the process ends. Tests put a stand-in in its place.
 */
#ifndef RIDGE_ABI_CUPTI_LIBRARY_H
#define RIDGE_ABI_CUPTI_LIBRARY_H

#include <stdbool.h>

#include "base/status.h"
#include "abi/cupti.h"
#include "abi/cupti_symbols.h"

enum { CUPTI_OLDEST = 18 }; /* of CUDA 11.8: whose records were compared with abi.h */

#define CUPTI_MEMBER(name, parameters) cupti_result(*name) parameters;
struct cupti {
    CUPTI_SYMBOLS(CUPTI_MEMBER)
    uint32_t version; /* cuptiGetVersion()'s */
    bool shared;      /* somebody else in this process had loaded it: it is not to be finalized */
};
#undef CUPTI_MEMBER

/* The library, or NULL and a failed status. $RIDGE_CUPTI, when it is set, names the only file that
 * is tried, or is "off"; then comes one that is loaded already; of those on the machine, one for
 * this major version of the driver (0: any) before a newer one. Fails where the CUDA driver does
 * not load: some versions of CUPTI crash without it. */
const struct cupti *cupti_library(int major, struct status *status);

/* The path of that library, which is loaded but not called. */
bool cupti_locate(int major, char *path, size_t size, struct status *status);

/* Says in the status what a failed call means and what to do; returns false. */
bool cupti_call_failed(const struct cupti *cupti, cupti_result result, const char *call,
                       struct status *status);

/* The version as the toolkit's: "13.0". */
enum { CUPTI_VERSION_TEXT = 24 };
void cupti_version_text(uint32_t version, char text[CUPTI_VERSION_TEXT]);

/* For tests: use this table, or fail when its version is too old; NULL goes back to the machine's
 * own. */
void cupti_use(const struct cupti *cupti);

#endif
