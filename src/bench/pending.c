/* TEMPORARY while the parts are being written: weak definitions so that everything links. Deleted
 * before anything is released. */
#include "bench/print.h"
#include "bench/roofline.h"
#include "bench/run.h"
#include "bench/workload.h"
#include "device/health.h"

#define WEAK __attribute__((weak))
#define FAIL return status_fail(status, STATUS_UNSUPPORTED, "not built yet")
#define P __attribute__((unused))

WEAK const struct roof_info roof_infos[ROOF_COUNT];
WEAK bool roofs_measure(ridge_device *d P, bool q P, roofs_progress *p P, void *c P,
                        struct roofs *r P, struct status *status) {
    FAIL;
}
WEAK bool roofs_load(ridge_device *d P, bool q P, struct roofs *r P) {
    return false;
}
WEAK void roofs_keep(ridge_device *d P, const struct roofs *r P) {}
WEAK bool roofs_get(ridge_device *d P, bool q P, bool f P, roofs_progress *p P, void *c P,
                    struct roofs *r, struct status *s P) {
    *r = (struct roofs){0};
    return true;
}
WEAK void roofs_write_json(const struct roofs *r P, struct json *json) {
    json_null(json);
}
WEAK bool roofs_read_json(struct text o P, struct roofs *r P, struct status *status) {
    FAIL;
}
WEAK const char *limit_kind_name(enum limit_kind k P) {
    return "?";
}
WEAK struct limit roofs_limit(const struct roofs *r P, const struct amount *a P) {
    return (struct limit){0};
}
WEAK enum roof_id roofs_product_unit(const struct roofs *r P, enum ridge_dtype d P) {
    return ROOF_F32;
}
WEAK bool roofline_text(const struct roofs *r P, const struct roofline_dot *d P, size_t c P,
                        unsigned w P, bool a P, struct output *o P, struct status *status) {
    FAIL;
}
WEAK bool roofline_svg(const struct roofs *r P, const struct roofline_dot *d P, size_t c P,
                       struct output *o P, struct status *status) {
    FAIL;
}
WEAK struct peer *peer_start(const char *f P, const char *d P, struct status *status) {
    status_fail(status, STATUS_UNSUPPORTED, "not built yet");
    return NULL;
}
WEAK void peer_stop(struct peer *p P) {}
WEAK const char *peer_description(const struct peer *p P) {
    return "";
}
WEAK bool peer_prepare(struct peer *p P, const struct peer_work *w P, bool *h P,
                       struct status *status) {
    FAIL;
}
WEAK bool peer_batch(void *p P, unsigned c P, double *n P, struct status *status) {
    FAIL;
}
WEAK struct result *result_add(struct result_set *s P, const struct result *r P,
                               struct status *status) {
    status_fail(status, STATUS_UNSUPPORTED, "not built yet");
    return NULL;
}
WEAK bool finding_add(struct result_set *s P, const char *e P, const char *d P, const char *k P,
                      double v P, struct status *st P, const char *f P, ...) {
    return true;
}
WEAK const struct result *result_find(const struct result_set *s P, const struct result *l P) {
    return NULL;
}
WEAK void result_set_finish(struct result_set *s P) {}
WEAK void result_set_write(const struct result_set *s P, struct output *o P) {}
WEAK bool result_set_read(struct result_set *s P, const char *p P, struct status *status) {
    FAIL;
}
WEAK const struct case_kind workload_eager, workload_compiled;
WEAK void workload_size_up(struct bench_case *w P) {}
#define W(name) WEAK const struct workload workload_##name;
W(chain)
W(softmax) W(layer_norm) W(rms_norm) W(matmul) W(linear) W(lora) W(gated_mlp) W(attention)
    W(rmsnorm_linear) W(sum) W(row_max) W(add) W(mul) W(exp) W(relu) W(gelu) W(matmul_relu)
        W(matmul_then_relu) W(add_relu) W(add_then_relu) W(mul_relu) W(mul_then_relu) W(affine)
            W(mul_then_add) W(mlp) static bool no_plan(const struct stage *s P,
                                                       struct case_list *l P, struct status *st P) {
    return true;
}
#define E(id, word)                                                                                \
    WEAK const struct experiment experiment_##id = {                                               \
        .name = word, .summary = "not built yet", .plan = no_plan};
E(fusion, "fusion")
E(memory_vs_compute, "memory-vs-compute") E(elementwise, "elementwise") E(reduction, "reduction")
    E(matmul, "matmul") E(layers, "layers") E(lora, "lora") E(lora_rank, "lora-rank")
        E(gated_mlp, "gated-mlp") E(attention, "attention") E(rmsnorm_linear, "rmsnorm-linear")
            E(quantization, "quantization") E(fused_ops, "fused-ops")
                E(batch_scaling, "batch-scaling") E(workgroup_sweep, "workgroup-sweep")
                    E(tile_sweep, "tile-sweep") E(pool, "pool") E(transfers, "transfers")
                        E(rwkv, "rwkv") WEAK
    bool compare_results(const struct result_set *b P, const struct result_set *a P,
                         struct comparison_set *s P, struct status *status) {
    FAIL;
}
WEAK void comparison_set_finish(struct comparison_set *s P) {}
WEAK double compare_reference_loop(void) {
    return 1e6;
}
WEAK const char *comparison_words(enum comparison_verdict v P) {
    return "?";
}
WEAK bool compare_path(const char *n P, struct buffer *p P, struct status *status) {
    FAIL;
}
WEAK bool print_results(const struct result_set *s P, const struct print_style *y P,
                        struct output *o P, struct status *status) {
    FAIL;
}
WEAK bool print_comparison(const struct comparison_set *s P, const struct print_style *y P,
                           struct output *o P, struct status *status) {
    FAIL;
}
WEAK bool print_roofs(const struct roofs *r P, const struct print_style *y P, struct output *o P,
                      struct status *status) {
    FAIL;
}
WEAK char *print_roof_value(enum roof_kind k P, double v P, char t[48]) {
    t[0] = 0;
    return t;
}
WEAK void print_timeline(const struct span *s P, size_t c P, int64_t l P, unsigned n P,
                         struct output *o P) {}
WEAK struct health_watch *health_open(const struct device *d P) {
    return NULL;
}
WEAK void health_close(struct health_watch *w P) {}
WEAK void health_read(struct health_watch *w P, struct health *r) {
    *r = (struct health){0};
}
WEAK bool health_disturbed(const struct health *b P, const struct health *a P, char *w,
                           size_t c P) {
    *w = 0;
    return false;
}
WEAK bool run_experiments(const struct run_options *o P, struct result_set *s P,
                          struct status *status) {
    FAIL;
}
