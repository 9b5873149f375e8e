#!/bin/sh
# Shows that schedc predicts a Parquet file ten times as large as the memory limit.
#
#   bench/memory.sh SCHEDC [PYTHON]
#
# SCHEDC is the program; PYTHON has pyarrow and numpy. Repeats rows of the example model until their file is
# ten times as large as the address space under `ulimit -v`. Uses a library, so that LLVM's own memory does
# not count.
set -eu
schedc=$(realpath "$1") python=${2:-python3}
repository=$(realpath "$(dirname "$0")/..")
# Memory limit in KiB. The program itself maps about half of it, mostly LLVM.
limit=${LIMIT:-393216}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$schedc" build "$repository/examples/model/breast_cancer.json" -o model.so
"$python" - "$repository/examples/model/rows.parquet" $((limit * 1024 * 10)) << 'END'
import os, sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
table = pq.read_table(sys.argv[1])
rows, random = 1 << 16, np.random.default_rng(0)
with pq.ParquetWriter("rows.parquet", table.schema, compression="none", use_dictionary=False,
                      data_page_size=1 << 16) as out:
    while os.path.getsize("rows.parquet") < int(sys.argv[2]):
        out.write_table(table.take(random.integers(0, len(table), rows)), row_group_size=rows)
END
size=$(stat -c %s rows.parquet)
(ulimit -v "$limit"; "$schedc" predict model.so -i rows.parquet -o out.npy --threads 1)
echo "predicted $((size >> 20)) MiB of rows in $((limit >> 10)) MiB; wrote $(stat -c %s out.npy) bytes"
