/* Quantities for people: three significant digits and a suitable unit.
 *
 * Each function writes into the caller's small buffer and returns it, so that it can be an argument
 * of printf:
 *
 *   char time[FORMAT_SIZE], size[FORMAT_SIZE];
 *   printf("%s in %s\n", format_bytes(copied, size), format_duration(ns, time));
 *
 * Units are decimal (1 KB = 1000 B, 1 GB = 10^9 B), as vendors state bandwidths, so that bytes
 * divided by time give the rate printed next to them. Rounding is to nearest, halves away from
 * zero. NaN and infinities print as "-".
 */
#ifndef RIDGE_BASE_FORMAT_H
#define RIDGE_BASE_FORMAT_H

#include <stdint.h>

enum { FORMAT_SIZE = 40 };

/* "0 ns", "999 ns", "1.23 µs", "12.3 ms", "123 s", "12,345 s"; exact below a microsecond. */
char *format_duration(int64_t ns, char text[FORMAT_SIZE]);
/* "512 B", "1.23 KB", "12.3 MB", "1.00 GB", up to EB; exact below a kilobyte. */
char *format_bytes(uint64_t bytes, char text[FORMAT_SIZE]);
/* "12,345" */
char *format_count(uint64_t count, char text[FORMAT_SIZE]);
/* "1 graph", "1,234 graphs"; the words are short. */
enum { FORMAT_PLURAL_SIZE = 80 };
char *format_plural(uint64_t count, const char *one, const char *many,
                    char text[FORMAT_PLURAL_SIZE]);
/* A factor: "1.08x", "10.4x", "27,215x". */
char *format_ratio(double ratio, char text[FORMAT_SIZE]);
/* 0.1234 as "12.3 %". A non-zero share never prints as 0.0 % but as "<0.1 %", and one below the
 * whole never as 100 % but as ">99.9 %". A ratio above 1 is not a share: it prints as a factor,
 * "1.08x".
 */
char *format_percent(double ratio, char text[FORMAT_SIZE]);
/* Bytes per second as "12.3 GB/s", "1.23 MB/s". */
char *format_rate(double bytes_per_second, char text[FORMAT_SIZE]);
/* Operations per second as "64.9 TFLOP/s". */
char *format_operations(double operations_per_second, char text[FORMAT_SIZE]);

#endif
