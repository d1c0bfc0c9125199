"""Read and write the index file. The only package that contains SQL."""
