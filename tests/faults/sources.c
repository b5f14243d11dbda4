/* Writes a small trace in each format that ridge reads and does not write:
 *
 *   sources FOLDER    nsys.sqlite, rpd.rpd, xplane.pb, xctrace.xml
 *
 * SQLite files are made when SQLite is there (RIDGE_HAVE_SQLITE). */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static FILE *create(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file)
        perror(path);
    return file;
}

#ifdef RIDGE_HAVE_SQLITE
#include <sqlite3.h>

#define THREAD_ID "281475245146128"
#define PROCESS_ID "281475245146112"
static const char nsys[] =
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "INSERT INTO StringIds VALUES (1, 'void gemm<float>(float *)'), (2, 'gemm'),"
    "(3, 'cudaLaunchKernel_v7000'), (4, 'cudaDeviceSynchronize_v3020'), (5, 'step'),"
    "(6, 'worker');"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,"
    "contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
    "demangledName INTEGER, shortName INTEGER, gridX INTEGER, blockX INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"
    "(2000, 3000, 0, 1, 7, 1, " PROCESS_ID ", 1, 2, 8, 128),"
    "(4000, 5000, 0, 1, 7, 2, " PROCESS_ID ", 1, 2, 8, 128),"
    "(6000, 9000, 0, 1, 7, 3, " PROCESS_ID ", 1, 2, 8, 128);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,"
    "contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
    "bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES"
    "(9500, 9900, 0, 1, 7, 4, " PROCESS_ID ", 4096, 1, 1, 2);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER,"
    "globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES"
    "(1000, 1100, 0, " THREAD_ID ", 1, 3, 0), (1200, 1300, 0, " THREAD_ID ", 2, 3, 0),"
    "(1400, 1500, 0, " THREAD_ID ", 3, 3, 0), (1600, 9950, 0, " THREAD_ID ", 5, 4, 0);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER,"
    "deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,"
    "globalPid INTEGER, syncType INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES"
    "(1600, 9950, 0, 1, 7, 5, " PROCESS_ID ", 3);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT,"
    "globalTid INTEGER, textId INTEGER, domainId INTEGER);"
    "INSERT INTO NVTX_EVENTS VALUES (900, 9990, 59, NULL, " THREAD_ID ", 5, 0);"
    "CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);"
    "INSERT INTO ThreadNames VALUES (6, 0, " THREAD_ID ");"
    "CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);"
    "INSERT INTO META_DATA_CAPTURE VALUES ('COMMAND_LINE', 'a.out');"
    "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, smCount INTEGER);"
    "INSERT INTO TARGET_INFO_GPU VALUES (0, 'a GPU', 8);";
static const char rpd[] =
    "CREATE TABLE rocpd_metadata (id, tag, value);"
    "INSERT INTO rocpd_metadata VALUES (1, 'schema_version', '2');"
    "CREATE TABLE rocpd_string (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, string varchar);"
    "INSERT INTO rocpd_string VALUES (1, ''), (2, 'hipLaunchKernel'), (3, 'UserMarker'),"
    "(4, 'KernelExecution'), (5, 'gemm'), (6, 'CopyHostToDevice'), (7, 'hipMemcpyAsync'),"
    "(8, 'forward');"
    "CREATE TABLE rocpd_api (id INTEGER PRIMARY KEY, pid, tid, start, end, apiName_id, args_id);"
    "INSERT INTO rocpd_api VALUES (1, 9, 9, 1000, 1100, 2, 1), (2, 9, 9, 1200, 1300, 7, 1),"
    "(3, 9, 9, 900, 9000, 3, 8);"
    "CREATE TABLE rocpd_op (id INTEGER PRIMARY KEY, gpuId, queueId, start, end, description_id,"
    "opType_id);"
    "INSERT INTO rocpd_op VALUES (1, 2, 0, 2000, 5000, 5, 4), (2, 2, 0, 6000, 8000, 1, 6);"
    "CREATE TABLE rocpd_api_ops (id INTEGER PRIMARY KEY, api_id, op_id);"
    "INSERT INTO rocpd_api_ops VALUES (1, 1, 1), (2, 2, 2);"
    "CREATE TABLE rocpd_kernelapi (api_ptr_id, gridX, gridY, gridZ, workgroupX, workgroupY,"
    "workgroupZ, groupSegmentSize, kernelName_id);"
    "INSERT INTO rocpd_kernelapi VALUES (1, 1024, 1, 1, 256, 1, 1, 64, 5);"
    "CREATE TABLE rocpd_copyapi (api_ptr_id, size, width, height, kind, pinned);"
    "INSERT INTO rocpd_copyapi VALUES (2, 4096, 0, 0, 1, 1);"
    "CREATE TABLE rocpd_monitor (id INTEGER PRIMARY KEY, deviceType, deviceId, monitorType, start,"
    "end, value);"
    "INSERT INTO rocpd_monitor VALUES (1, 'gpu', 2, 'sclk', 1000, 2000, '1700');";

static int write_database(const char *folder, const char *name, const char *sql) {
    char path[4096];
    sqlite3 *database = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int ok = sqlite3_open(path, &database) == SQLITE_OK &&
             sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK;
    if (!ok)
        fprintf(stderr, "%s: %s\n", path, sqlite3_errmsg(database));
    sqlite3_close(database);
    return ok;
}

static int write_databases(const char *folder) {
    return write_database(folder, "nsys.sqlite", nsys) && write_database(folder, "rpd.rpd", rpd);
}
#else
static int write_databases(const char *folder) {
    (void)folder;
    return 1;
}
#endif

/* A protobuf message under construction. */
struct message {
    unsigned char bytes[2048];
    size_t length;
};

static void put_varint(struct message *to, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        to->bytes[to->length++] = (unsigned char)(value | 0x80);
    to->bytes[to->length++] = (unsigned char)value;
}

static void put_number(struct message *to, unsigned field, uint64_t value) {
    put_varint(to, field << 3);
    put_varint(to, value);
}

static void put_bytes(struct message *to, unsigned field, const void *bytes, size_t length) {
    put_varint(to, field << 3 | 2);
    put_varint(to, length);
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
}

static void put_message(struct message *to, unsigned field, const struct message *part) {
    put_bytes(to, field, part->bytes, part->length);
}

/* An entry of event_metadata (4) or stat_metadata (5). */
static void put_name(struct message *plane, unsigned field, uint64_t id, const char *name) {
    struct message metadata = {.length = 0}, entry = {.length = 0};
    put_number(&metadata, 1, id);
    put_bytes(&metadata, 2, name, strlen(name));
    put_number(&entry, 1, id);
    put_message(&entry, 2, &metadata);
    put_message(plane, field, &entry);
}

/* A line of two events, which carry a number: their correlation. */
static void put_line(struct message *plane, const char *name, uint64_t offset) {
    struct message line = {.length = 0};
    put_number(&line, 1, 5);
    put_bytes(&line, 2, name, strlen(name));
    put_number(&line, 3, 1000000);
    for (uint64_t i = 0; i < 2; i++) {
        struct message event = {.length = 0}, stat = {.length = 0};
        put_number(&event, 1, 1);
        put_number(&event, 2, offset + i * 3000000);
        put_number(&event, 3, 2000000);
        put_number(&stat, 1, 4);
        put_number(&stat, 3, i + 1);
        put_message(&event, 4, &stat);
        put_message(&line, 4, &event);
    }
    put_message(plane, 3, &line);
}

static int write_xplane(const char *folder) {
    static const char *const planes[][3] = {
        {"/device:GPU:0", "gemm", "Stream #7(Compute)"},
        {"/host:CPU", "cuLaunchKernel", "main/77"},
    };
    struct message space = {.length = 0};
    for (unsigned i = 0; i < 2; i++) {
        struct message plane = {.length = 0};
        put_bytes(&plane, 2, planes[i][0], strlen(planes[i][0]));
        put_name(&plane, 5, 4, "correlation_id");
        put_name(&plane, 4, 1, planes[i][1]);
        put_line(&plane, planes[i][2], 9000000 - i * 8000000);
        put_message(&space, 1, &plane);
    }
    FILE *file = create(folder, "xplane.pb");
    return file && fwrite(space.bytes, 1, space.length, file) == space.length && fclose(file) == 0;
}

#define COLUMN(name) "<col><mnemonic>" name "</mnemonic><name>x</name></col>"
static const char xctrace[] =
    "<?xml version=\"1.0\"?>\n<trace-query-result>"
    "<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'><schema "
    "name=\"metal-gpu-intervals\">" COLUMN("start") COLUMN("duration") COLUMN(
        "channel-name") COLUMN("event-depth") COLUMN("event-label") COLUMN("state")
        COLUMN("process") COLUMN("gpu") COLUMN(
            "encoder-id") "</schema><row><t>1000</t><u>500</u><c id=\"100\">Compute</c><d "
                          "id=\"101\">0</d>"
                          "<formatted-label id=\"102\" fmt=\"gemm ( x )\"><string id=\"103\">gemm "
                          "</string>"
                          "</formatted-label><s id=\"104\">Active</s><process id=\"105\" fmt=\"app "
                          "(7)\">"
                          "<pid id=\"106\">7</pid></process><g id=\"107\">M1</g><e>9</e></row>\n"
                          "<row><t>2000</t><u>500</u><c ref=\"100\"/><d "
                          "ref=\"101\"/><formatted-label ref=\"102\"/>"
                          "<s ref=\"104\"/><process ref=\"105\"/><g ref=\"107\"/><e>10</e></row>\n"
                          "</node></trace-query-result>";

static int write_xctrace(const char *folder) {
    FILE *file = create(folder, "xctrace.xml");
    return file && fputs(xctrace, file) >= 0 && fclose(file) == 0;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: sources FOLDER\n");
        return 2;
    }
    return !(write_databases(argv[1]) && write_xplane(argv[1]) && write_xctrace(argv[1]));
}
