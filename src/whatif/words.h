/* How changes say what they do: counts with their nouns, texts that end at a word, and which names
 * there are where the one that was asked for has nothing. */
#ifndef RIDGE_WHATIF_WORDS_H
#define RIDGE_WHATIF_WORDS_H

#include "base/format.h"
#include "whatif/graph.h"

/* Appends behind "; " in a text of OUTCOME_TEXT bytes; what has no room ends at a word, with "…".
 */
void text_join(char *to, const char *words);

/* Says in why_not that no `what` is called as the pattern says, and what those that weigh most are
 * called. `weight` is by string, 0: no such. False when all are 0: there is none of any name. */
bool explain_no_match(struct outcome *outcome, const struct trace *trace, const char *what,
                      struct text pattern, const int64_t *weight);

/* "kernels", "synchronising calls": whether one of them has the name, by weights as above. */
bool name_is_present(const struct trace *trace, struct text pattern, const int64_t *weight);

#endif
