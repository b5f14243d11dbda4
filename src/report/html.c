/* The page: one HTML file that needs nothing else. The template is the folder web, made into one
 * file by scripts/bundle and embedded; the reports and the columns of their tables (as JSON)
 * and the events (as columns) are put where it leaves room. All are deflated and in base64, so that
 * the page stays small and nothing of a trace can ever end its element. */
#include "report/report.h"

#include "report/html_parts.h"
#include "report/sections.h"

extern const unsigned char embedded_page_html[]; /* terminated */
extern const size_t embedded_page_html_size;

static const char place_of_data[] = "<!-- data -->";
enum { TABLE_ROWS = 500 };

/* Begins an element of data, which browsers neither run nor show. */
static bool begin_data(struct page_stream *stream, const char *type, const char *what, size_t index,
                       struct output *output, struct status *status) {
    output_printf(output, "<script type=\"%s;deflate;base64\" id=\"%s-%zu\">", type, what, index);
    return page_stream_begin(stream, output, status);
}

static void end_data(struct page_stream *stream) {
    page_stream_end(stream);
    output_printf(stream->output, "</script>\n");
}

static bool write_json(struct text json, const char *what, size_t index, struct output *output,
                       struct status *status) {
    struct page_stream stream;
    if (!begin_data(&stream, "application/json", what, index, output, status))
        return false;
    page_stream_write(&stream, json.data, json.length);
    end_data(&stream);
    return true;
}

static bool write_report(const struct report *report, size_t index, struct output *output,
                         struct status *status) {
    struct buffer json = {0};
    struct output into = output_into(&json);
    bool ok = report_write_json(report, &into, status) && buffer_ok(&json, status) &&
              write_json(buffer_as_text(&json), "report", index, output, status);
    buffer_finish(&json);
    return ok;
}

/* The titles and units of the report's tables, which the page shows from the report's JSON. */
static bool write_sections(struct output *output, struct status *status) {
    struct buffer text = {0};
    struct output into = output_into(&text);
    struct json json = {.output = &into};
    struct page_stream stream;
    json_begin_object(&json);
    for (const struct report_part *part = report_parts; part->name; part++)
        for (size_t i = 0; part->sections[i]; i++)
            if (part->sections[i]->columns) {
                json_key(&json, part->sections[i]->key);
                section_write_json_columns(part->sections[i], &json);
            }
    json_end_object(&json);
    bool ok = buffer_ok(&text, status) &&
              begin_data(&stream, "application/json", "sections", 0, output, status);
    if (ok) {
        page_stream_write(&stream, text.data, text.length);
        end_data(&stream);
    }
    buffer_finish(&text);
    return ok;
}

/* All tables of a device, or of the host (NULL), as the text report has them. */
static bool write_device_tables(const struct report *report, const struct report_device *device,
                                struct json *json, struct status *status) {
    const struct report_source source = {report, device};
    bool ok = true;
    json_begin_array(json);
    for (const struct report_part *part = report_parts; part->name; part++)
        for (size_t i = 0; part->sections[i] && part->per_device == (device != NULL); i++)
            ok = section_write_json_table(part->sections[i], part->name, &source, TABLE_ROWS, json,
                                          status) &&
                 ok;
    json_end_array(json);
    return ok;
}

static bool write_tables(const struct report *report, size_t index, struct output *output,
                         struct status *status) {
    struct buffer text = {0};
    struct output into = output_into(&text);
    struct json json = {.output = &into};
    json_begin_object(&json);
    json_key(&json, "host");
    bool ok = write_device_tables(report, NULL, &json, status);
    json_key(&json, "devices");
    json_begin_object(&json);
    for (size_t i = 0; i < report->device_count; i++) {
        json_key_text(&json, model_device_key(&report->model, report->devices[i].id));
        ok = write_device_tables(report, &report->devices[i], &json, status) && ok;
    }
    json_end_object(&json);
    json_end_object(&json);
    ok = ok && buffer_ok(&text, status) &&
         write_json(buffer_as_text(&text), "tables", index, output, status);
    buffer_finish(&text);
    return ok;
}

static bool write_events(const struct report *report, size_t index, struct output *output,
                         struct page_summary *summary, struct status *status) {
    struct page_events events = {0};
    struct page_stream stream;
    if (!begin_data(&stream, "application/octet-stream", "events", index, output, status))
        return false;
    bool ok = page_write_data(&stream, report, &events, status);
    end_data(&stream);
    summary->merged_events += events.merged_events;
    if (events.shorter > summary->shorter)
        summary->shorter = events.shorter;
    page_events_finish(&events);
    return ok;
}

/* `whole` is about the page as a whole and is named `what`; it may be empty. */
static bool write_page(const struct report *const *reports, size_t count, const char *what,
                       struct text whole, struct output *output, struct page_summary *summary,
                       struct status *status) {
    struct text template = {(const char *)embedded_page_html, embedded_page_html_size};
    ptrdiff_t place = text_find(template, place_of_data);
    *summary = (struct page_summary){0};
    if (place < 0)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "this build's page has no place for data: build ridge again");
    output_write(output, template.data, (size_t)place);
    if (!write_sections(output, status) ||
        (whole.length && !write_json(whole, what, 0, output, status)))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!write_report(reports[i], i, output, status) ||
            !write_tables(reports[i], i, output, status) ||
            !write_events(reports[i], i, output, summary, status))
            return false;
    size_t after = (size_t)place + sizeof place_of_data - 1;
    output_write(output, template.data + after, template.length - after);
    return true;
}

bool report_write_html(const struct report *const *reports, size_t count, struct output *output,
                       struct page_summary *summary, struct status *status) {
    return write_page(reports, count, "", TEXT(""), output, summary, status);
}

bool report_write_difference_html(const struct report *const reports[2], struct text difference,
                                  struct output *output, struct page_summary *summary,
                                  struct status *status) {
    return write_page(reports, 2, "difference", difference, output, summary, status);
}

bool report_write_job_html(struct text json, struct output *output, struct status *status) {
    struct page_summary summary;
    return write_page(NULL, 0, "job", json, output, &summary, status);
}
