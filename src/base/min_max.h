/* The minimum and the maximum of two numbers. Arguments may be evaluated twice. */
#ifndef RIDGE_BASE_MIN_MAX_H
#define RIDGE_BASE_MIN_MAX_H

#undef MIN
#undef MAX
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#endif
