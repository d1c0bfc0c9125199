"""Winnowing: Schleimer, Wilkerson, Aiken, "Winnowing: Local Algorithms for Document Fingerprinting" (2003).

- `kgrams`: the hash of each k-gram, by Karp-Rabin hashing (section 2): `rolling_hashes`, `grams`.
- `selection`: the fingerprints of a text, by the rightmost or the robust rule (sections 3 and 4.1), and their
  expected density 2 / (w + 1): `select_fingerprints`, `winnowing_density`.
- `other_selections`: what the paper compares winnowing with, 0 mod p among them (sections 3.1 and 4.2):
  `winnow`, `mod_p`, `safe_mod_p`, `n_smallest`.
- `common_runs`: from equal fingerprints to all maximal common runs: `maximal_runs`, `run_chains`.

Arrays in, arrays out.
"""
