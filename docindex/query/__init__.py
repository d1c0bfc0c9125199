"""Answer questions about the documents of an index: candidates, exact numbers and passages."""
