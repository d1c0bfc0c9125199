"""Slots and features (Broder, "Identifying and Filtering Near-Duplicate Documents", 2000).

- `slots`: the sketch of a text, its estimate of the resemblance, and the features of a sketch: `slot_keys`,
  `stored_slots`, `estimate_resemblance`, `features`.
- `feature_filter`: P(k, s, r), the share of pairs that a filter of features passes, and the best filter for a
  threshold (section 3): `acceptance`, `propose_filter`.
- `bands`: neighbouring slots that are looked up together: `certain_bands`, `likely_bands`.

Arrays in, arrays out.
"""
