"""Two texts: one was made from the other by rewording, and they have no passage in common."""

_BEFORE = "The tide tables for the harbour were printed in March."
_AFTER = "A pair of grey geese nested under the wooden bridge."

ORIGINAL = (
    "The librarian counted every lantern before the storm reached the northern shelves. "
    "Visitors borrowed heavy blankets and waited beside the copper stove until morning. "
    "Nobody remembered who had unlocked the cellar where the oldest maps were drying."
)
REWORDED = (
    "Before a storm got to the northern shelves, each lantern was counted by the librarian. "
    "Until morning, by the stove of copper, visitors waited with heavy borrowed blankets. "
    "Who had unlocked that cellar, with its oldest maps drying, nobody remembered."
)
A, B = f"{_BEFORE}\n\n{REWORDED}\n\n{_AFTER}", f"{ORIGINAL}\n\nGoats are sold on Fridays."
