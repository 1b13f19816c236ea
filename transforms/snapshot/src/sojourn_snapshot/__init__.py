"""The format of a published build: what `sojourn build` writes and `sojourn serve` reads.

Below the folder of snapshots::

    CURRENT                    names the build being served, and says since when
    BUILD_ID/build.json        what the build was made from
    BUILD_ID/catalog.json      the datasets: grain, key, columns with types and units
    BUILD_ID/files.json        every Parquet file with its length and SHA-256
    BUILD_ID/NAME.parquet      the rows of a dataset: one file, or a folder of files whose names are in order

A build's folder never changes. Another build is served once CURRENT, one small file, is replaced.
"""
