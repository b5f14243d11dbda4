/* The number of elements in an array whose length the compiler knows; never pass a pointer. */
#ifndef RIDGE_BASE_ARRAY_H
#define RIDGE_BASE_ARRAY_H

#define ARRAY_COUNT(array) (sizeof(array) / sizeof(array)[0])

#endif
