/* Selects a program's schedule, and when to split a reduction into parts.
 *
 * Memory-bound work needs 16-byte accesses and enough bytes in flight: about 32 KiB per compute
 * unit. Rows that fit are kept in registers from the first reduction to the last store, so that
 * each is read once. Several threads share a row, as few as possible.
 */
#include "gen/emit/schedule.h"

#include "gen/emit/passes.h"
#include "gen/emit/program.h"

enum {
    MAP_THREADS = 256,
    GROUP_THREADS = 128,    /* several rows to a block */
    GROUP_WIDTH = 32,       /* maximum threads of a row that shares a block with others */
    ROW_THREADS = 128,      /* of SCHEDULE_ROW_THREAD */
    ELEMENTS_GROUP = 32,    /* maximum kept by a thread of its row */
    ELEMENTS_BLOCK = 16,    /* aimed at */
    ELEMENTS_MAX = 32,      /* before rows are streamed */
    ELEMENTS_HELD_MAX = 96, /* counting each held value */
    BYTES_IN_FLIGHT = 64,   /* a thread's loads before it computes */
};

unsigned schedule_row_threads(const struct program_schedule *schedule) {
    switch ((enum schedule_kind)schedule->kind) {
    case SCHEDULE_ROW_THREAD:
        return 1;
    case SCHEDULE_ROW_GROUP:
        return schedule->threads / schedule->rows;
    default:
        return schedule->threads;
    }
}

unsigned schedule_rows(const struct program_schedule *schedule) {
    return schedule->threads / schedule_row_threads(schedule);
}

static int64_t product(const int64_t *sizes, unsigned first, unsigned last) {
    int64_t result = 1;
    for (unsigned axis = first; axis < last; axis++)
        result *= sizes[axis];
    return result;
}

static int64_t divide_up(int64_t a, int64_t b) {
    return a / b + (a % b != 0);
}

static int64_t power_of_two_from(int64_t min) {
    int64_t power = 1;
    while (power < min)
        power *= 2;
    return power;
}

static unsigned limit_to(int64_t value, unsigned limit) {
    return value < (int64_t)limit ? (unsigned)value : limit;
}

/* Threads that a block may have: a power of two. */
static unsigned block_limit(const struct device_capabilities *device) {
    unsigned limit = 1;
    while (limit < 1024 && limit * 2 <= device->block_max)
        limit *= 2;
    return limit;
}

static unsigned element_bytes(const struct program *program, unsigned slot) {
    return (unsigned)ridge_dtype_bytes(program->operands[slot].dtype, 1);
}

/* Whether all indices and offsets stay below 2^31. */
static bool is_narrow(const struct program *program, const struct program_shape *shape) {
    const int64_t limit = INT32_MAX;
    int64_t elements = 1;
    for (unsigned axis = 0; axis < program->rank; axis++)
        if (__builtin_mul_overflow(elements, shape->sizes[axis], &elements) || elements > limit)
            return false;
    for (unsigned i = 0; i < program->operand_count; i++) {
        int64_t extent = 0;
        for (unsigned axis = 0; axis < program->rank; axis++) {
            int64_t stride = shape->strides[i][axis], span;
            if (stride > limit || stride < -limit ||
                __builtin_mul_overflow(shape->sizes[axis], stride < 0 ? -stride : stride, &span) ||
                __builtin_add_overflow(extent, span, &extent) || extent > limit)
                return false;
        }
    }
    return true;
}

/* ---- Vectors ----------------------------------------------------------------------------- */

static bool walks_neighbors(const struct program *program, unsigned slot) {
    return program->rank && program->operands[slot].strides[program->rank - 1] == STRIDE_ONE;
}

/* Whether every vector of the operand is aligned to its size, at most 16 bytes. */
static bool is_aligned(const struct program *program, const struct program_shape *shape,
                       unsigned slot, unsigned vector) {
    unsigned bytes = element_bytes(program, slot);
    int64_t needed = vector * bytes < 16 ? vector * bytes : 16;
    if (!walks_neighbors(program, slot) || shape->alignment[slot] % needed != 0)
        return false;
    for (unsigned axis = 0; axis + 1 < program->rank; axis++)
        if (shape->strides[slot][axis] * bytes % needed != 0)
            return false;
    return true;
}

static unsigned aligned_operands(const struct program *program, const struct program_shape *shape,
                                 unsigned vector) {
    unsigned mask = 0;
    for (unsigned i = 0; i < program->operand_count; i++)
        if (is_aligned(program, shape, i, vector))
            mask |= 1u << i;
    return mask;
}

/* The longest vector that divides the last axis (or leaves a tail, when that is allowed) and is
 * aligned for at least half of the operands that could use it. */
static unsigned choose_vector(const struct program *program, const struct program_shape *shape,
                              bool tail) {
    unsigned neighbors = 0, smallest = 4;
    for (unsigned i = 0; i < program->operand_count; i++)
        if (walks_neighbors(program, i)) {
            neighbors++;
            if (element_bytes(program, i) < smallest)
                smallest = element_bytes(program, i);
        }
    if (neighbors == 0)
        return 1;
    int64_t last = shape->sizes[program->rank - 1];
    for (unsigned vector = smallest == 4 ? 4 : 8; vector > 1; vector /= 2) {
        unsigned aligned = (unsigned)__builtin_popcount(aligned_operands(program, shape, vector));
        if ((last % vector == 0 || (tail && last >= vector)) && aligned * 2 >= neighbors)
            return vector;
    }
    return 1;
}

/* Bytes that one element reads from the operands that differ between elements. */
static unsigned loaded_bytes(const struct program *program, const struct passes *passes) {
    unsigned bytes = 0;
    for (unsigned i = 0; i < program->instruction_count; i++) {
        const struct program_instruction *self = &program->instructions[i];
        if (self->op == OP_LOAD && passes->needed[i] && !passes->uniform[i])
            bytes += element_bytes(program, self->slot);
    }
    return bytes;
}

static unsigned expressions(const struct program *program) {
    unsigned count = 0;
    for (unsigned i = 0; i < program->instruction_count; i++)
        count += program->instructions[i].op < OP_EXPRESSIONS;
    return count;
}

/* ---- Programs without rows --------------------------------------------------------------- */

/* Vectors of a thread that are loaded together: more where there is little to load for each and
 * little to compute, as long as all units have work. */
static unsigned map_vectors(const struct program *program, const struct passes *passes,
                            const struct device_capabilities *device, int64_t count,
                            unsigned vector) {
    unsigned bytes = loaded_bytes(program, passes) * vector;
    unsigned max = limit_to(BYTES_IN_FLIGHT / (bytes ? bytes : 16), 8);
    if (expressions(program) > 16)
        max = limit_to(max, 1);
    int64_t resident = (int64_t)device->compute_units *
                       (device->threads_per_unit ? device->threads_per_unit : 1024);
    unsigned vectors = 1;
    while (vectors * 2 <= max && count / vector / (vectors * 2) >= resident)
        vectors *= 2;
    return vectors;
}

/* Operands that walk their neighbors along `axis` while the results do so along the last one. */
static unsigned transposed_operands(const struct program *program,
                                    const struct program_shape *shape, const struct passes *passes,
                                    unsigned axis) {
    unsigned mask = 0;
    for (unsigned i = 0; i < program->instruction_count; i++) {
        const struct program_instruction *self = &program->instructions[i];
        if (self->op == OP_LOAD && passes->needed[i] && !passes->uniform[i] &&
            program->operands[self->slot].strides[program->rank - 1] == STRIDE_ANY &&
            shape->strides[self->slot][axis] == 1)
            mask |= 1u << self->slot;
        if (self->op == OP_STORE && !walks_neighbors(program, self->slot))
            return 0;
    }
    return mask;
}

/* Squares of the space, turned around in shared memory: worth it from some size on. */
static bool schedule_transpose(const struct program *program, const struct program_shape *shape,
                               const struct device_capabilities *device,
                               const struct passes *passes, struct kernel_request *request) {
    struct program_schedule *schedule = &request->spec.program.schedule;
    const int64_t side = SQUARE_SIDE;
    unsigned last = program->rank - 1;
    if (program->rank < 2 || shape->sizes[last] < side / 2 || block_limit(device) < MAP_THREADS)
        return false;
    for (unsigned axis = last; axis-- > 0;) {
        unsigned mask = transposed_operands(program, shape, passes, axis);
        unsigned bytes = (unsigned)__builtin_popcount(mask) * SQUARE_SIDE * (SQUARE_SIDE + 1) * 4;
        if (mask == 0 || shape->sizes[axis] < side / 2 || bytes > device->shared_bytes)
            continue;
        schedule->vector = 1;
        schedule->threads = MAP_THREADS;
        schedule->per_thread = SQUARE_SIDE * SQUARE_SIDE / MAP_THREADS;
        request->spec.choices[CHOICE_ACROSS] = (int32_t)mask;
        request->spec.choices[CHOICE_ACROSS_AXIS] = (int32_t)axis;
        int64_t squares = divide_up(shape->sizes[last], side) * divide_up(shape->sizes[axis], side);
        for (unsigned other = 0; other < last; other++)
            squares *= other == axis ? 1 : shape->sizes[other];
        request->grid[0] = limit_to(squares, INT32_MAX);
        return true;
    }
    return false;
}

static void schedule_map(const struct program *program, const struct program_shape *shape,
                         const struct device_capabilities *device, struct kernel_request *request) {
    struct program_schedule *schedule = &request->spec.program.schedule;
    struct passes passes;
    passes_plan(program, true, &passes);
    schedule->kind = SCHEDULE_MAP;
    schedule->rows = 1;
    if (schedule_transpose(program, shape, device, &passes, request))
        return;
    int64_t count = product(shape->sizes, 0, program->rank);
    unsigned vector = choose_vector(program, shape, program->rank == 1);
    schedule->vector = (uint8_t)vector;
    schedule->threads = (uint16_t)limit_to(MAP_THREADS, block_limit(device));
    schedule->per_thread = (uint16_t)map_vectors(program, &passes, device, count, schedule->vector);
    request->spec.choices[CHOICE_TAIL] = count % vector != 0;
    int64_t tile = (int64_t)schedule->threads * schedule->per_thread * vector;
    request->spec.choices[CHOICE_EXACT] = count / vector * vector % tile == 0;
    request->grid[0] = limit_to(divide_up(count / vector * vector, tile), INT32_MAX);
    if (request->grid[0] == 0)
        request->grid[0] = 1;
}

/* ---- Programs with rows ------------------------------------------------------------------ */

struct rows {
    int64_t rows, count; /* elements of a row */
    unsigned vector;
    unsigned held;  /* values of an element that registers hold at a time, roughly */
    unsigned bytes; /* that an element loads */
    bool across;    /* neighbors in memory are neighboring rows */
};

static void describe_rows(const struct program *program, const struct program_shape *shape,
                          struct rows *rows) {
    struct passes passes;
    passes_plan(program, true, &passes);
    *rows = (struct rows){.rows = product(shape->sizes, 0, program->outer),
                          .count = product(shape->sizes, program->outer, program->rank),
                          .vector = choose_vector(program, shape, false),
                          .bytes = loaded_bytes(program, &passes)};
    unsigned along = 0, across = 0;
    for (unsigned i = 0; i < program->instruction_count; i++) {
        const struct program_instruction *self = &program->instructions[i];
        bool load = self->op == OP_LOAD && passes.needed[i] && !passes.uniform[i];
        rows->held += passes.held[i] || (load && passes.pass[i] == 0);
        if (!load && !(self->op == OP_STORE && !passes_row_store(program, &passes, i)))
            continue;
        if (walks_neighbors(program, self->slot))
            along++;
        else if (program->outer && shape->strides[self->slot][program->outer - 1] == 1)
            across++;
    }
    rows->across = across > along;
}

static int64_t rows_grid(const struct rows *rows, const struct program_schedule *schedule) {
    return divide_up(rows->rows, schedule_rows(schedule));
}

/* Up to a subgroup of threads per row, if they can keep the row. */
static bool schedule_group(const struct rows *rows, const struct device_capabilities *device,
                           struct program_schedule *schedule) {
    int64_t vectors = rows->count / rows->vector;
    unsigned row_threads = limit_to(power_of_two_from(vectors), GROUP_WIDTH);
    int64_t per_thread = vectors > 0 ? divide_up(vectors, row_threads) : 1;
    int64_t elements = per_thread * rows->vector;
    if (elements > ELEMENTS_GROUP || elements * rows->held > ELEMENTS_HELD_MAX)
        return false;
    unsigned threads = limit_to(GROUP_THREADS, block_limit(device));
    if (threads < row_threads)
        return false;
    schedule->kind = SCHEDULE_ROW_GROUP;
    schedule->threads = (uint16_t)threads;
    schedule->rows = (uint8_t)(threads / row_threads);
    schedule->per_thread = (uint16_t)per_thread;
    return true;
}

/* A block per row that keeps the row. */
static bool schedule_block(const struct rows *rows, const struct device_capabilities *device,
                           struct program_schedule *schedule) {
    unsigned largest = block_limit(device);
    int64_t threads = power_of_two_from(divide_up(rows->count, ELEMENTS_BLOCK));
    threads = threads < 2 * GROUP_WIDTH ? 2 * GROUP_WIDTH : threads;
    if (threads > largest)
        threads = largest;
    int64_t per_thread = divide_up(rows->count / rows->vector, threads);
    int64_t elements = per_thread * rows->vector;
    if (elements > ELEMENTS_MAX || elements * rows->held > ELEMENTS_HELD_MAX)
        return false;
    schedule->kind = SCHEDULE_ROW_BLOCK;
    schedule->threads = (uint16_t)threads;
    schedule->rows = 1;
    schedule->per_thread = (uint16_t)per_thread;
    return true;
}

static unsigned stream_vectors(const struct rows *rows, unsigned vector) {
    unsigned bytes = rows->bytes * vector;
    unsigned vectors = 1;
    while (vectors * 2 <= 8 && vectors * 2 * bytes <= BYTES_IN_FLIGHT)
        vectors *= 2;
    return vectors;
}

static void schedule_stream(const struct rows *rows, const struct device_capabilities *device,
                            struct program_schedule *schedule) {
    unsigned max = rows->rows >= 4 * (int64_t)device->compute_units ? 256 : 1024;
    max = limit_to(max, block_limit(device));
    schedule->kind = SCHEDULE_ROW_STREAM;
    schedule->rows = 1;
    schedule->per_thread = (uint16_t)stream_vectors(rows, rows->vector);
    int64_t useful = divide_up(rows->count, (int64_t)rows->vector * schedule->per_thread);
    schedule->threads = (uint16_t)limit_to(power_of_two_from(useful), max);
}

static void schedule_thread(const struct rows *rows, const struct device_capabilities *device,
                            struct program_schedule *schedule) {
    schedule->kind = SCHEDULE_ROW_THREAD;
    schedule->vector = 1;
    schedule->rows = 1;
    schedule->threads = (uint16_t)limit_to(ROW_THREADS, block_limit(device));
    while (schedule->threads > 32 &&
           rows->rows / schedule->threads < 2 * (int64_t)device->compute_units)
        schedule->threads /= 2;
    schedule->per_thread = (uint16_t)stream_vectors(rows, 1);
    while (schedule->per_thread > 1 && schedule->per_thread > rows->count)
        schedule->per_thread /= 2;
}

static void schedule_rows_of(const struct program *program, const struct program_shape *shape,
                             const struct device_capabilities *device,
                             struct kernel_request *request) {
    struct program_schedule *schedule = &request->spec.program.schedule;
    struct rows rows;
    describe_rows(program, shape, &rows);
    schedule->vector = (uint8_t)rows.vector;
    if (rows.across && rows.rows >= 32) {
        schedule_thread(&rows, device, schedule);
    } else if (!schedule_group(&rows, device, schedule) &&
               !schedule_block(&rows, device, schedule)) {
        schedule_stream(&rows, device, schedule);
    }
    bool keeps = schedule->kind == SCHEDULE_ROW_GROUP || schedule->kind == SCHEDULE_ROW_BLOCK;
    int64_t tile =
        (int64_t)schedule_row_threads(schedule) * schedule->per_thread * schedule->vector;
    request->spec.choices[CHOICE_EXACT] = keeps ? rows.count == tile : rows.count % tile == 0;
    if (keeps && rows.count != tile)
        schedule->per_thread = (uint16_t)power_of_two_from(schedule->per_thread);
    request->grid[0] = limit_to(rows_grid(&rows, schedule), INT32_MAX);
}

void schedule_choose(const struct program *program, const struct program_shape *shape,
                     const struct device_capabilities *device, struct kernel_request *request) {
    struct program_schedule *schedule = &request->spec.program.schedule;
    schedule->wide = !is_narrow(program, shape);
    if (program->rank > program->outer)
        schedule_rows_of(program, shape, device, request);
    else
        schedule_map(program, shape, device, request);
    request->spec.choices[CHOICE_ALIGNED] =
        schedule->vector > 1 ? (int32_t)aligned_operands(program, shape, schedule->vector) : 0;
    request->grid[1] = request->grid[2] = 1;
    request->block[0] = schedule->threads;
    request->block[1] = request->block[2] = 1;
}

/* ---- Splitting --------------------------------------------------------------------------- */

/* The divisor of `size` nearest below `wanted`, or else `wanted` itself when even half of it has
 * none. */
static int64_t even_parts(int64_t size, int64_t wanted) {
    for (int64_t parts = wanted; parts * 2 > wanted; parts--)
        if (size % parts == 0)
            return parts;
    return wanted;
}

bool source_split_reduction(const struct program *program, const struct program_shape *shape,
                            const struct device_capabilities *device, int64_t *parts) {
    if (program->rank == program->outer)
        return false;
    struct rows rows;
    describe_rows(program, shape, &rows);
    if (rows.rows <= 0 || rows.count <= 0)
        return false;
    bool by_thread = rows.across && rows.rows >= 32;
    int64_t per_unit = by_thread ? 1024 : 4; /* threads or blocks */
    int64_t min = by_thread ? 64 : 16384;    /* elements that are worth a part */
    int64_t wanted = per_unit * device->compute_units / rows.rows;
    if (wanted > rows.count / min)
        wanted = rows.count / min;
    int64_t size = shape->sizes[program->outer];
    if (wanted > size)
        wanted = size;
    if (wanted < 2)
        return false;
    *parts = even_parts(size, wanted);
    return *parts > 1;
}
