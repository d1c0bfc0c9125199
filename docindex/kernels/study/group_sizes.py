"""The number of slots for each feature that Broder (2000) derives from a resemblance.

In: a resemblance. Out: the number. For study: no index uses it. Must never be taken for the best filter.
"""

import math


def steepest_group(resemblance: float) -> float:
    """The number of slots s = 1/ln(1/x) for which x^s is steepest at the resemblance x; not rounded.

    >>> round(steepest_group(0.931), 1)
    14.0
    """
    if not 0 < resemblance < 1:
        raise ValueError(f"resemblance must be between 0 and 1, exclusive; found {resemblance}")
    return -1 / math.log(resemblance)
