/* Hostile Nsight Systems exports. An SQLite file is imported as it is; other input is a list of
 * edits (offset, new byte) of a small valid export, which passes SQLite's own checks more often. */
#ifdef RIDGE_HAVE_SQLITE

#include "database.h"
#include "targets.h"

const char fuzz_schema_nsys[] =
    "PRAGMA page_size = 512;"
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "INSERT INTO StringIds VALUES (1, 'gemm<float>'), (2, 'gemm'), (3, 'cudaLaunchKernel_v7000'),"
    "(4, 'cudaStreamSynchronize_v3020'), (5, 'main');"
    "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
    "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2026.1');"
    "CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);"
    "INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:COMMAND', 'a.out');"
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"
    "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1776781226557295056);"
    "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, uuid TEXT, smCount INTEGER);"
    "INSERT INTO TARGET_INFO_GPU VALUES (0, 'left', 'ab', 10), (1, 'right', 'cd', 20);"
    "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);"
    "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 16), (1, 0, 17);"
    "CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
    "INSERT INTO PROCESSES VALUES (281475245146112, 16, 'python');"
    "CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);"
    "INSERT INTO ThreadNames VALUES (5, 10, 281475245146128);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,"
    "contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
    "demangledName INTEGER, shortName INTEGER, gridX INTEGER, blockX INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 1, 7, 5, 281475245146112, 1, 2, 3,"
    "4), (20, 30, 0, 1, 7, 5, 281475261923328, 1, 2, 3, 4);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId,"
    "correlationId, globalPid, bytes, copyKind, srcKind, dstKind);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, 0, 1, 7, 1, 281475245146112, 64, 1, 1,"
    "2);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER,"
    "globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 0, 281475245146128, 5, 3, 0),"
    "(3, 9, 0, 281475245146128, 6, 4, 0);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, deviceId, contextId, streamId,"
    "correlationId, globalPid, syncType, eventId, eventSyncId);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (3, 8, 0, 1, 7, 6, 281475245146112, 3,"
    "1, 2);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId, contextId, streamId, correlationId,"
    "globalPid, eventId, eventSyncId);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 1, 7, 4, 281475245146112, 1, 2);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT,"
    "globalTid INTEGER, textId INTEGER, domainId INTEGER);"
    "INSERT INTO NVTX_EVENTS VALUES (5, NULL, 75, 'layers', 281475245146128, NULL, 3),"
    "(100, NULL, 59, NULL, 281475245146128, 5, 3), (1, 2, 34, 'm', 281475245146128, NULL, 0);"
    "CREATE TABLE COMPOSITE_EVENTS (id INTEGER PRIMARY KEY, start, globalTid);"
    "INSERT INTO COMPOSITE_EVENTS VALUES (1, 10, 281475245146128);"
    "CREATE TABLE SAMPLING_CALLCHAINS (id, symbol, module, stackDepth);"
    "INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 5, 1, 0), (1, 2, 1, 1);"
    "CREATE TABLE DIAGNOSTIC_EVENT (severity, text);"
    "INSERT INTO DIAGNOSTIC_EVENT VALUES (2, 'lost');";

int fuzz_nsys(const uint8_t *data, size_t size) {
    return fuzz_database(&import_nsys, fuzz_schema_nsys, data, size);
}

#else

#include "targets.h"

int fuzz_nsys(const uint8_t *data, size_t size) {
    (void)data, (void)size;
    return 0;
}

#endif
