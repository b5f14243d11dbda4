/* The text of the prelude: what each language defines for itself, then what follows for all. */
#ifndef RIDGE_GEN_SOURCE_WORDS_H
#define RIDGE_GEN_SOURCE_WORDS_H

extern const char source_words_cuda[], source_words_opencl[], source_words_metal[];
extern const char source_words_neutral[];

#endif
