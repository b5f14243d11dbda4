/* The fixed point of arange.h: ldexp(), floor() and rint() are exact, so that the numbers are the
 * same on every machine. */
#include "gen/arange.h"

#include <math.h>

bool arange_prepare(double start, double step, int64_t count, bool whole, struct arange *arange,
                    struct status *status) {
    double reach = step * (double)count;
    double largest = fmax(fabs(start), fmax(fabs(step), fabs(reach)));
    if (isnan(start) || isnan(step) || !(largest < 0x1p127))
        return status_fail(status, STATUS_USAGE,
                           "arange of %lld elements from %g by %g exceeds the range of f32; use a "
                           "smaller start and step",
                           (long long)count, start, step);
    int exponent = 0, count_bits = 0;
    frexp(largest, &exponent);
    frexp((double)count, &count_bits);
    int point_max = whole ? 40 : 126; /* 2^-126 is the smallest scale that a float holds */
    int point = 61 - exponent < point_max ? 61 - exponent : point_max;
    int fine_bits = 62 - count_bits < 32 ? 62 - count_bits : 32;
    fine_bits = fine_bits < 0 ? 0 : fine_bits;
    double scaled = ldexp(step, point);
    *arange = (struct arange){
        .start = (int64_t)rint(ldexp(start, point)),
        .step = (int64_t)floor(scaled),
        .fine = (int64_t)ldexp(scaled - floor(scaled), fine_bits),
        .fine_bits = fine_bits,
        .point = point,
    };
    return true;
}
