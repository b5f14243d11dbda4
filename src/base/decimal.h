/* Exact conversion of decimal text to integers: trace times must not pass through a double. */
#ifndef RIDGE_BASE_DECIMAL_H
#define RIDGE_BASE_DECIMAL_H

#include <stdint.h>

#include "base/text.h"

/* The decimal number in `number` (sign, digits, fraction, exponent) times 10^scale, rounded half to
 * even. False when it is not a number or the result does not fit. Microseconds to nanoseconds is
 * decimal_scaled(text, 3, &ns). */
bool decimal_scaled(struct text number, int scale, int64_t *value);

#endif
