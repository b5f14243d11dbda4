// Windows of planes: [lines, height, width] to [lines, down, across, rows of windows, columns of
// windows]. Element (i, j) of window (r, c) is at (r * stride + i * dilation - padding, ...); outside
// the plane it is FILL.

// section: body
#define UNFOLD_COUNT scalars.v[0]
#define UNFOLD_HEIGHT scalars.v[1]
#define UNFOLD_WIDTH scalars.v[2]
#define UNFOLD_DOWN scalars.v[3]
#define UNFOLD_ACROSS scalars.v[4]
#define UNFOLD_ROWS scalars.v[5]
#define UNFOLD_COLUMNS scalars.v[6]
#define UNFOLD_STRIDE_Y scalars.v[7]
#define UNFOLD_STRIDE_X scalars.v[8]
#define UNFOLD_DILATION_Y scalars.v[9]
#define UNFOLD_DILATION_X scalars.v[10]
#define UNFOLD_PADDING_Y scalars.v[11]
#define UNFOLD_PADDING_X scalars.v[12]
#define UNFOLD_FILL scalars.v[13]
FOR_EACH(e, UNFOLD_COUNT) {
    INT64 c = e % UNFOLD_COLUMNS, rest = e / UNFOLD_COLUMNS;
    INT64 r = rest % UNFOLD_ROWS;
    rest /= UNFOLD_ROWS;
    INT64 j = rest % UNFOLD_ACROSS;
    rest /= UNFOLD_ACROSS;
    INT64 i = rest % UNFOLD_DOWN, line = rest / UNFOLD_DOWN;
    INT64 row = r * UNFOLD_STRIDE_Y + i * UNFOLD_DILATION_Y - UNFOLD_PADDING_Y;
    INT64 column = c * UNFOLD_STRIDE_X + j * UNFOLD_DILATION_X - UNFOLD_PADDING_X;
    if (row >= 0 && row < UNFOLD_HEIGHT && column >= 0 && column < UNFOLD_WIDTH)
        ELEMENT(result, e) = ELEMENT(x, (line * UNFOLD_HEIGHT + row) * UNFOLD_WIDTH + column);
    else
        STORE(result, e, FILL(UNFOLD_FILL));
}
}
