/* Whether a text is one JSON value as RFC 8259 has it: stricter than base/json_read.h, which
 * accepts what writers of traces get wrong. */
#ifndef RIDGE_TESTS_FUZZ_JSON_CHECK_H
#define RIDGE_TESTS_FUZZ_JSON_CHECK_H

#include "base/text.h"

bool json_is_valid(struct text text);
/* Length of the JSON value that the text begins with; 0 when there is none. */
size_t json_value_length(struct text text);

#endif
