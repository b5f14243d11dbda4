/* Reads NVTX's attributes. */
#include "probe/nvtx/nvtx_said.h"

#include <stdio.h>

struct text nvtx_text(const char *text) {
    return text ? (struct text){text, strnlen(text, SPOOL_TEXT_MAX + 1)} : TEXT("");
}

struct text nvtx_text_from_wide(struct probe_thread *thread, const wchar_t *text) {
    return nvtx_narrow(text, thread->converted, SPOOL_TEXT_MAX);
}

static uint32_t message_text(struct probe_thread *thread,
                             const struct nvtx_attributes *attributes) {
    switch (attributes->message_type) {
    case NVTX_MESSAGE_A:
        return spool_text(thread->lane, nvtx_text(attributes->message.narrow));
    case NVTX_MESSAGE_W:
        return spool_text(thread->lane, nvtx_text_from_wide(thread, attributes->message.wide));
    case NVTX_MESSAGE_REGISTERED:
        return spool_constant(thread->lane, attributes->message.registered);
    default:
        return 0;
    }
}

static uint32_t category_text(struct probe_thread *thread, const struct nvtx_domain *domain,
                              uint32_t category) {
    char number[16];
    if (category == 0)
        return 0;
    const char *name = nvtx_category_name(domain, category);
    if (name)
        return spool_constant(thread->lane, name);
    int length = snprintf(number, sizeof number, "%u", category);
    return spool_text(thread->lane, (struct text){number, (size_t)length});
}

static void read_payload(struct nvtx_event *event, const struct nvtx_attributes *attributes) {
    double number;
    switch (attributes->payload_type) {
    case NVTX_PAYLOAD_U64:
        event->payload = attributes->payload.i64;
        event->has_payload = SPOOL_PAYLOAD_UNSIGNED;
        break;
    case NVTX_PAYLOAD_U32:
        event->payload = attributes->payload.u32;
        event->has_payload = SPOOL_PAYLOAD_UNSIGNED;
        break;
    case NVTX_PAYLOAD_I64:
        event->payload = attributes->payload.i64;
        event->has_payload = SPOOL_PAYLOAD_SIGNED;
        break;
    case NVTX_PAYLOAD_I32:
        event->payload = attributes->payload.i32;
        event->has_payload = SPOOL_PAYLOAD_SIGNED;
        break;
    case NVTX_PAYLOAD_F64:
    case NVTX_PAYLOAD_F32:
        number = attributes->payload_type == NVTX_PAYLOAD_F64 ? attributes->payload.f64
                                                              : (double)attributes->payload.f32;
        memcpy(&event->payload, &number, sizeof number);
        event->has_payload = SPOOL_PAYLOAD_DOUBLE;
        break;
    }
}

struct nvtx_event nvtx_event_read(struct probe_thread *thread, const struct nvtx_domain *domain,
                                  const struct nvtx_attributes *attributes) {
    struct nvtx_event event = {.domain = spool_constant(thread->lane, domain->name)};
    if (!attributes || attributes->size < sizeof *attributes)
        return event; /* of a version that has less to say than we would read */
    event.name = message_text(thread, attributes);
    event.category = category_text(thread, domain, attributes->category);
    event.colour = attributes->colour_type == NVTX_COLOUR_ARGB ? attributes->colour : 0;
    read_payload(&event, attributes);
    return event;
}

struct nvtx_event nvtx_event_plain(struct probe_thread *thread, struct text name) {
    return (struct nvtx_event){.name = spool_text(thread->lane, name)};
}
