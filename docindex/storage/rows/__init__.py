"""Read and write the rows of the tables."""
