/* Hostile RPD traces: whole databases, or edits of a small valid one (see nsys.c). */
#ifdef RIDGE_HAVE_SQLITE

#include "database.h"
#include "targets.h"

const char fuzz_schema_rpd[] =
    "PRAGMA page_size = 512;"
    "CREATE TABLE rocpd_metadata (id, tag, value);"
    "INSERT INTO rocpd_metadata VALUES (1, 'schema_version', '2');"
    "CREATE TABLE rocpd_string (id integer NOT NULL PRIMARY KEY, string varchar);"
    "INSERT INTO rocpd_string VALUES (1, ''), (2, 'hipLaunchKernel'),"
    "(3, 'hipExtModuleLaunchKernel'), (4, 'UserMarker'), (5, 'KernelExecution'), (6, 'Barrier'),"
    "(7, 'gemm'), (8, 'CopyHostToDevice'), (9, 'hipMemcpyAsync'), (10, 'forward');"
    "CREATE TABLE rocpd_api (id INTEGER PRIMARY KEY, pid, tid, start, end, apiName_id, args_id);"
    "INSERT INTO rocpd_api VALUES (1, 9, 9, 1, 2, 2, 1), (2, 9, 9, 3, 4, 3, 1),"
    "(3, 9, 9, 3, 4, 4, 10), (4, 9, 9, 3, 4, 9, 10);"
    "CREATE TABLE rocpd_op (id INTEGER PRIMARY KEY, gpuId, queueId, start, end, description_id,"
    "opType_id);"
    "INSERT INTO rocpd_op VALUES (1, 2, 0, 5, 6, 7, 5), (2, 2, 0, 7, 8, 1, 5), (3, 2, 1, 7, 8, 1,"
    "8), (4, 2, 1, 9, 9, 1, 6);"
    "CREATE TABLE rocpd_api_ops (id INTEGER PRIMARY KEY, api_id, op_id);"
    "INSERT INTO rocpd_api_ops VALUES (1, 1, 1), (2, 2, 2), (3, 4, 3);"
    "CREATE TABLE rocpd_kernelapi (api_ptr_id, gridX, gridY, gridZ, workgroupX, workgroupY,"
    "workgroupZ, groupSegmentSize, kernelName_id);"
    "INSERT INTO rocpd_kernelapi VALUES (1, 10, 1, 1, 256, 1, 1, 64, 7), (2, 1000, 782, 1, 256, 2,"
    "1, 0, 7);"
    "CREATE TABLE rocpd_copyapi (api_ptr_id, size, width, height, kind, pinned);"
    "INSERT INTO rocpd_copyapi VALUES (4, 4096, '', '', 1, 1);"
    "CREATE TABLE rocpd_monitor (deviceType, deviceId, monitorType, start, end, value);"
    "INSERT INTO rocpd_monitor VALUES ('gpu', 0, 'sclk', 1, 2, '800');";

int fuzz_rpd(const uint8_t *data, size_t size) {
    return fuzz_database(&import_rpd, fuzz_schema_rpd, data, size);
}

#else

#include "targets.h"

int fuzz_rpd(const uint8_t *data, size_t size) {
    (void)data, (void)size;
    return 0;
}

#endif
