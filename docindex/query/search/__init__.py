"""Find the documents that share fingerprints with a query, best first."""
