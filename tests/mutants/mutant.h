/* Included first by every source that has mutants compiled in; see README.md.
 *
 *   RIDGE_MUTANT=17          turns on mutant 17
 *   RIDGE_MUTANT=trace:FILE  sets byte N of FILE when site N is reached
 */
#ifndef RIDGE_MUTANT_H
#define RIDGE_MUTANT_H

extern int mutant_active;
extern unsigned char *mutant_reached;

/* As mutant_is(), but such a site is reached only where the change makes another value. */
static inline int mutant_differs(int id, int differs) {
    if (__builtin_expect(mutant_reached != 0, 0) && differs)
        mutant_reached[id] = 1;
    return __builtin_expect(mutant_active == id, 0);
}

static inline int mutant_is(int id) {
    if (__builtin_expect(mutant_reached != 0, 0))
        mutant_reached[id] = 1;
    return __builtin_expect(mutant_active == id, 0);
}

#endif
