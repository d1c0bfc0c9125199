"""Simhash and its tables (Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling", 2007).

- `bits`: the simhash of weighted features (section 2), and Hamming distances: `simhashes_of`,
  `simhash_of_features`, `hamming_distance`.
- `table_design`: which tables find all fingerprints within a distance (section 3.1): `fewest_tables`,
  `useful_designs`.
- `hamming_tables`: such tables in memory, for one query or a batch (sections 3.1 and 4): `SortedTables`.
- `compressed`: a sorted table in fewer bytes (section 3.2): `compress`.

Arrays in, arrays out.
"""
