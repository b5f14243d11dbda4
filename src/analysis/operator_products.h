/* The work of operators that are sums of products: matrices, convolutions, attention. */
#ifndef RIDGE_ANALYSIS_OPERATOR_PRODUCTS_H
#define RIDGE_ANALYSIS_OPERATOR_PRODUCTS_H

#include "analysis/operator.h"

/* `name` without "aten::" and without an underscore behind it. */
struct operator_work product_work(struct text name, const struct arguments *arguments);

#endif
