"""Read and write the index file. The only package that contains SQL."""

# From the bottom up: other_connection, values, tracked_files, file, statements, tallies, tables,
# untrusted, migrations, postings, followed, hosts, rows, pending, check, maintenance.
