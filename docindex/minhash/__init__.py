"""Slots and features (Broder, "Identifying and Filtering Near-Duplicate Documents", 2000).

- `slots`: the sketch of a text, its estimate of the resemblance, and the features of a sketch: `slot_keys`,
  `stored_slots`, `estimate_resemblance`, `features`.
- `feature_filter`: P(k, s, r), the share of pairs that a filter of features passes (section 3): `acceptance`;
  and the size of a group of slots for a resemblance: `steepest_group`.
- `bands`: neighbouring slots that are looked up together: `certain_bands`, `likely_bands`.

Arrays in, arrays out.
"""
