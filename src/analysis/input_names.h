/* Does a name say that data are fetched? Of a range ("enumerate(DataLoader)", "next batch") or of a
 * function ("_BaseDataLoaderIter.__next__ (dataloader.py)").
 */
#ifndef RIDGE_ANALYSIS_INPUT_NAMES_H
#define RIDGE_ANALYSIS_INPUT_NAMES_H

#include "base/text.h"

bool name_is_input(struct text name);

#endif
