/* Packets of a Perfetto trace being written: interning, track descriptors, and sending. */
#ifndef RIDGE_EXPORT_PERFETTO_TRACKS_H
#define RIDGE_EXPORT_PERFETTO_TRACKS_H

#include "base/map.h"
#include "export/export.h"
#include "import/perfetto/perfetto_layout.h"

/* Kinds of interned names; each has its own numbering. */
enum interned { INTERNED_CATEGORY, INTERNED_NAME, INTERNED_KEY, INTERNED_VALUE, INTERNED_KINDS };

struct perfetto {
    struct trace *trace;
    struct output *output;
    struct buffer event, interned, packet;
    struct map sent[INTERNED_KINDS]; /* ids whose text has been written */
    struct map tracks;               /* uuids that have been described */
    int64_t offset;                  /* taken off every time, so that none is negative */
    bool started;                    /* the first packet has left */
    struct status *status;
    bool failed;
};

/* Writes the text of an id where it is used for the first time. */
void perfetto_intern(struct perfetto *perfetto, enum interned kind, uint64_t id, struct text text);

/* An event: begin it, put fields into perfetto->event, send it. Its track is described first where
 * it has not been. */
void perfetto_begin(struct perfetto *perfetto, unsigned type, uint64_t track);
void perfetto_send(struct perfetto *perfetto, int64_t time);

void perfetto_finish(struct perfetto *perfetto);

#endif
