/* Is this the name of a range ("enumerate(DataLoader)", "next batch") or function
 * ("_BaseDataLoaderIter.__next__ (dataloader.py)") that loads input? */
#ifndef RIDGE_ANALYSIS_INPUT_NAMES_H
#define RIDGE_ANALYSIS_INPUT_NAMES_H

#include "base/text.h"

bool name_is_input(struct text name);

#endif
