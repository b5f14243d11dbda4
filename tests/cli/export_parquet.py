# Compares each table of a trace, exported as Parquet, with its export as CSV:
#
#   export_parquet.py RIDGE TRACE [TABLE...]
#
# Parquet is read by DuckDB, and by pyarrow and Polars where they are installed. Prints what differs, and
# then ends with status 1.
import csv
import subprocess
import sys
from collections import Counter

import duckdb

csv.field_size_limit(1 << 30)
RIDGE, TRACE, *CHOSEN = sys.argv[1:]
TABLES = ["meta", "process", "thread", "device", "queue", "stack", "activity", "call", "range", "mark", "wait",
          "memory", "sample", "counter", "state", "usage", "allocation", "metric"]


def read_duckdb(path):
    table = duckdb.sql(f"SELECT * FROM '{path}'")
    return table.columns, table.fetchall()


def read_pyarrow(path):
    import pyarrow.parquet
    table = pyarrow.parquet.read_table(path)
    return table.column_names, list(zip(*(column.to_pylist() for column in table.columns)))


def read_polars(path):
    import polars
    table = polars.read_parquet(path)
    return table.columns, table.rows()


def available():
    yield read_duckdb
    for module, reader in (("pyarrow.parquet", read_pyarrow), ("polars", read_polars)):
        try:
            __import__(module)
            yield reader
        except ImportError:
            pass


def cell(value):
    """CSV has "" for null, and an apostrophe in front of what a spreadsheet would run."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value[1:] if value[:1] == "'" and value[1:2] in tuple("=+-@\t\r\n") else value
    return format(value, ".17g") if isinstance(value, float) else str(value)


def compare(table, reader):
    with open("table.csv", newline="") as file:
        header, *wanted = csv.reader(file)
    columns, found = reader("table.parquet")
    shared = [name for name in header if name != "rank"]
    if list(columns) != [name for name in ("rank", "step") if name in columns] + shared:
        return f"columns {columns}, not {header}"
    keep = [header.index(name) for name in shared]
    wanted = Counter(tuple(cell(row[i]) for i in keep) for row in wanted)
    found = Counter(tuple(map(cell, row[len(columns) - len(shared):])) for row in found)
    if found != wanted:
        return f"only in Parquet {list((found - wanted).items())[:2]}, only in CSV {list((wanted - found).items())[:2]}"
    return None


faults = []
for table in CHOSEN or TABLES:
    for format_, path in (("csv", "table.csv"), ("parquet", "table.parquet")):
        subprocess.run([RIDGE, "export", TRACE, "--format", format_, "--table", table, "-f", "-o", path], check=True)
    for reader in available():
        fault = compare(table, reader)
        if fault:
            faults.append(f"{table}, {reader.__name__}: {fault}")
print("\n".join(faults), end="")
sys.exit(1 if faults else 0)
