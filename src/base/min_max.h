/* The smaller and the larger of two numbers. Each argument may be evaluated twice. */
#ifndef RIDGE_BASE_MIN_MAX_H
#define RIDGE_BASE_MIN_MAX_H

#undef MIN
#undef MAX
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#endif
