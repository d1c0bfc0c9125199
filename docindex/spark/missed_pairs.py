"""Choose bands of slots for a resemblance, and compute how likely they miss a pair.

In: a resemblance and the number of slots of a recipe. Out: bands, and a probability. A pair is missed if the
two texts have no band in common.
"""

from docindex import arguments
from docindex.minhash.bands import Bands
from docindex.recipe import Recipe

MOST_MISSED = 1e-3
"""The probability with which a pair at the threshold may be missed, unless the caller gives another one."""


def band_design(
    min_resemblance: float, max_missed: float = MOST_MISSED, recipe: Recipe | None = None
) -> Bands:
    """The widest bands that miss a pair of this resemblance with at most this probability.

    Two texts meet if all slots of one of their bands are equal. The wider a band is, the fewer texts meet by
    chance; so a larger `max_missed` takes less time. `missed_share` gives the probability for a resemblance.

    >>> band_design(0.8)
    Bands(slots=128, width=5, shared=1)
    >>> band_design(0.8, max_missed=0.1).width
    8
    """
    least = arguments.share("min_resemblance", min_resemblance, above_zero=True)
    most = arguments.share("max_missed", max_missed, above_zero=True)
    slots = (recipe or Recipe()).slots
    designs = (Bands(slots, width, 1) for width in range(slots, 1, -1))
    return next((bands for bands in designs if missed_share(bands, least) <= most), Bands(slots, 1, 1))


def missed_share(bands: Bands, resemblance: float) -> float:
    """The probability that a pair of this resemblance shares none of the bands.

    Each slot of the texts is equal with the probability `resemblance`, and slots are taken as independent.

    >>> round(missed_share(band_design(0.8), 0.8), 5), round(missed_share(band_design(0.8), 0.9), 9)
    (5e-05, 0.0)
    """
    share = arguments.share("resemblance", resemblance)
    missed: float = (1 - share**bands.width) ** len(bands.members)
    return missed
