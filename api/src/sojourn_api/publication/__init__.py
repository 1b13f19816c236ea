"""A build as a folder that any static host serves: written by `sojourn publish`, checked by `sojourn verify`.

One declaration (`declaration.Publication`) says what is published: datasets with their files, columns, units and
descriptions as the catalogue of the build has them, studies with their licences, inputs by content hash, software.
Every document of the folder is written from it and from nothing else:

    data/NAME.parquet          the rows of a dataset: one file, or a folder of files
    catalog.json, files.json   the snapshot's own documents, of what is published
    sojourn.duckdb, views.sql  views over the files, for DuckDB alone
    ro-crate-metadata.json     RO-Crate 1.1, with the inputs and versions that the build was made from
    CITATION.cff, LICENCES.md  how to cite, and the licence of each study
    index.html, figures.json   figures, each with the permalink from which `sojourn verify` computes it again
    publication.json           what was chosen, and the mark by which a publication is recognised
    SHA256SUMS                 the checksum of every other file
"""
