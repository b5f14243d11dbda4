// The sum of overlapping windows: [lines, down, across, rows of windows, columns of windows] to
// [lines, height, width]. Element (y, x) sums the window elements (i, j) of window (r, c) with
// r * stride + i * dilation - padding = y, and likewise along x.

// section: body
#define FOLD_COUNT scalars.v[0]
#define FOLD_HEIGHT scalars.v[1]
#define FOLD_WIDTH scalars.v[2]
#define FOLD_DOWN scalars.v[3]
#define FOLD_ACROSS scalars.v[4]
#define FOLD_ROWS scalars.v[5]
#define FOLD_COLUMNS scalars.v[6]
#define FOLD_STRIDE_Y scalars.v[7]
#define FOLD_STRIDE_X scalars.v[8]
#define FOLD_DILATION_Y scalars.v[9]
#define FOLD_DILATION_X scalars.v[10]
#define FOLD_PADDING_Y scalars.v[11]
#define FOLD_PADDING_X scalars.v[12]
FOR_EACH(e, FOLD_COUNT) {
    INT64 column = e % FOLD_WIDTH, row = e / FOLD_WIDTH % FOLD_HEIGHT;
    INT64 line = e / FOLD_WIDTH / FOLD_HEIGHT;
    VALUE sum = 0;
    for (INT64 i = 0; i < FOLD_DOWN; i++) {
        INT64 y = row + FOLD_PADDING_Y - i * FOLD_DILATION_Y;
        if (y < 0 || y % FOLD_STRIDE_Y != 0 || y / FOLD_STRIDE_Y >= FOLD_ROWS)
            continue;
        for (INT64 j = 0; j < FOLD_ACROSS; j++) {
            INT64 x = column + FOLD_PADDING_X - j * FOLD_DILATION_X;
            if (x < 0 || x % FOLD_STRIDE_X != 0 || x / FOLD_STRIDE_X >= FOLD_COLUMNS)
                continue;
            INT64 window = ((line * FOLD_DOWN + i) * FOLD_ACROSS + j) * FOLD_ROWS;
            sum += LOAD(windows, (window + y / FOLD_STRIDE_Y) * FOLD_COLUMNS + x / FOLD_STRIDE_X);
        }
    }
    STORE(result, e, sum);
}
}
