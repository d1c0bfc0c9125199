"""Shingles and samples (Broder, "On the resemblance and containment of documents", 1997).

- `shingles`: the shingles of a text, as a set (option B) or with the number of each occurrence (option A):
  `shingles`, `labelled_bag`.
- `samples`: MIN_s, MOD_m and L_i, and what they say about resemblance and containment, with their errors:
  `min_s`, `mod_m`, `l_i`, `resemblance_of_min_s`, `containment_of_mod_m`, `probability_within`.

Arrays in, arrays out.
"""
