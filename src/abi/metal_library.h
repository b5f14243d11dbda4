/* Loads Metal and the Objective-C runtime: functions, and one typed pointer to objc_msgSend() and
 * one selector for each message. */
#ifndef RIDGE_ABI_METAL_LIBRARY_H
#define RIDGE_ABI_METAL_LIBRARY_H

#include "base/status.h"
#include "abi/metal.h"

struct metal_library {
#define METAL_POINTER(name, result, parameters) result(*name) parameters;
    METAL_FUNCTIONS(METAL_POINTER)
    METAL_OPTIONAL_FUNCTIONS(METAL_POINTER)
#undef METAL_POINTER
    struct {
#define METAL_CALL(name, selector, owner, result, parameters) result(*name) parameters;
        METAL_METHODS(METAL_CALL)
#undef METAL_CALL
    } call;
    struct {
#define METAL_SELECTOR(name, selector, owner, result, parameters) metal_sel name;
        METAL_METHODS(METAL_SELECTOR)
#undef METAL_SELECTOR
    } selector;
};

/* Sends a message: SEND(library, new_buffer, device, bytes, options). */
#define SEND(library, method, receiver, ...)                                                       \
    (library)->call.method(receiver, (library)->selector.method, ##__VA_ARGS__)

/* The libraries of this machine, loaded at the first call. Fails where there is no Metal. */
bool metal_library(const struct metal_library **library, struct status *status);

#endif
