"""Check sketches that come from elsewhere, as far as that is cheap: each false row is named by its key.

In: a record batch of sketches, and the recipe that they must have. Out: its documents. Needs the package
pyarrow. Must never sketch a text: a wrong simhash or slot that is possible is believed.
"""

from collections.abc import Mapping
from typing import NoReturn

import numpy as np
import pyarrow as pa

from docindex.arguments import shown
from docindex.arrays.ranges import I64, U64, Bool, unmix
from docindex.errors import RecipeError, RecipeMismatch
from docindex.minhash.slots import features
from docindex.recipe import Recipe
from docindex.shingling.shingles import distinct_counts
from docindex.sketching.sketch_tables import SCHEMA, SketchedDocuments, columns_of, documents_in, list_of
from docindex.sketching.sketches import HASH_SHIFT, Sketches
from docindex.winnowing.selection import HASH_BITS

_SLOT_BITS = 12
_HASH_BYTES = 16
_TOO_HIGH = 2
"""A large number of shingles is an estimate, but never as many times too high."""
_SAMPLES = ("min_s", "mod_m", "level")


def refuse_damaged_buffers(batch: pa.RecordBatch) -> None:
    """`ValueError` if the buffers of a record batch contradict each other: to read them could crash.

    Reads all of them once, so check a batch before it is cut into pieces.
    """
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name not in SCHEMA.names:
            continue
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            raise ValueError(
                f"the column {name} is damaged: {error}; write the table of sketches again"
            ) from error


def checked_documents(batch: pa.RecordBatch, recipe: Recipe) -> SketchedDocuments:
    """The documents of a record batch; `ValueError` for a row that cannot be the sketch of any text.

    `RecipeMismatch` for a row with another recipe. The texts and the meta are not checked.
    """
    columns = columns_of(batch)
    _refuse_nulls(columns)
    keys = columns["key"].to_pylist()
    _refuse_other_recipes(columns["recipe"], keys, recipe)
    wanted = {"slots": recipe.slots, "features": recipe.features[0]}
    for name, size in wanted.items():
        sizes = np.diff(list_of(columns[name])[1])
        _refuse(keys, sizes != size, f"{name} must have {size} numbers")
    for name in ("text_hash", "words_hash"):
        lengths = np.array([len(hash_) for hash_ in columns[name].to_pylist()])
        _refuse(keys, lengths != _HASH_BYTES, f"{name} must have {_HASH_BYTES} bytes")
    for name in ("characters", "symbols", "shingles", "different"):
        numbers = columns[name].to_numpy(zero_copy_only=False)
        _refuse(keys, numbers < 0, f"{name} must not be negative")
    shingles, symbols = (columns[name].to_numpy(zero_copy_only=False) for name in ("shingles", "symbols"))
    _refuse(keys, shingles // _TOO_HIGH > symbols, "shingles must not be more than symbols")
    slots, starts = list_of(columns["slots"])
    _refuse_any(keys, starts, (slots < 0) | (slots >> _SLOT_BITS != 0), "a slot must be from 0 to 4095")
    _refuse_false_gaps(keys, columns, recipe)
    documents = documents_in(columns)
    _refuse_false_sketches(keys, documents.sketches)
    return documents


def _refuse_nulls(columns: Mapping[str, pa.Array]) -> None:
    if columns["key"].null_count:
        raise ValueError("a row has no key; leave such rows out")
    keys = columns["key"].to_pylist()
    for field in SCHEMA:
        if field.nullable:
            continue
        column = columns[field.name]
        _refuse(keys, column.is_null().to_numpy(zero_copy_only=False), f"{field.name} must not be null")
        if pa.types.is_list(field.type):
            _, starts = list_of(column)
            begin = column.offsets[0].as_py()
            values = column.values.slice(begin, int(starts[-1]))
            if values.null_count:
                nulls = values.is_null().to_numpy(zero_copy_only=False)
                _refuse_any(keys, starts, nulls, f"{field.name} must not contain null")


def _refuse_other_recipes(recipes: pa.Array, keys: list[str], recipe: Recipe) -> None:
    for written in recipes.unique().to_pylist():
        key = keys[recipes.index(written).as_py()]
        try:
            found = Recipe.from_json(written)
        except RecipeError as error:
            raise ValueError(f"the recipe of the sketch of {shown(key)} cannot be read: {error}") from error
        if found.id != recipe.id:
            raise RecipeMismatch(
                f"the sketch of {shown(key)} was made with the recipe {found.to_json()}, and the index has "
                f"{recipe.to_json()}; sketch the texts with the recipe of the index, or open a new index "
                "with that of the sketches",
                recipe,
                found,
            )


def _refuse_false_gaps(keys: list[str], columns: Mapping[str, pa.Array], recipe: Recipe) -> None:
    """Refuse gaps and hashes that winnowing cannot have selected from a text of that many symbols."""
    hashes, starts = list_of(columns["hashes"])
    gaps, of_gaps = list_of(columns["gaps"])
    sizes = np.diff(starts)
    _refuse(keys, np.diff(of_gaps) != sizes, "hashes and gaps must be equally many")
    false = (gaps < 0) | (gaps > recipe.window)
    _refuse_any(keys, starts, false, f"a gap must be from 0 to the window of the recipe, {recipe.window}")
    selected = unmix(hashes.view(np.uint64))
    _refuse_any(keys, starts, selected >> np.uint64(HASH_BITS) != 0, "winnowing cannot select a hash")
    symbols = columns["symbols"].to_numpy(zero_copy_only=False)
    ends = np.append(0, gaps.astype(np.int64).cumsum())
    behind = symbols - recipe.k - (ends[starts[1:]] - ends[starts[:-1]])
    false = np.where(sizes == 0, symbols >= recipe.k, (behind < 0) | (behind >= recipe.window))
    _refuse(keys, false, "the gaps do not fit the number of symbols")


def _refuse_false_sketches(keys: list[str], sketches: Sketches) -> None:
    """Refuse numbers that contradict others of the same sketch."""
    recipe = sketches.recipe
    kept_bits = ~((np.uint64(1) << HASH_SHIFT) - np.uint64(1))
    different = distinct_counts(sketches.hashes & kept_bits, sketches.starts)
    _refuse(keys, sketches.different != different, "different is not the number of different hashes")
    made = features(sketches.slots, *recipe.features[:2])
    _refuse(keys, (made != sketches.features).any(axis=1), "the features are not those of the slots")
    for name in _SAMPLES:
        values, starts = getattr(sketches, name)
        if not getattr(recipe, name):
            _refuse(keys, np.diff(starts) > 0, f"{name} must be empty, because the recipe has no such sample")
        _refuse_any(keys, starts, _descends(values, starts), f"{name} must ascend")


def _descends(values: U64, starts: I64) -> Bool:
    """Whether a value is not above the one before it in the same list."""
    false = np.zeros(len(values), bool)
    false[1:] = values[1:] <= values[:-1]
    begins = starts[:-1][starts[:-1] < len(values)]
    false[begins] = False
    return false


def _refuse_any(keys: list[str], starts: I64, false: Bool, rule: str) -> None:
    """Refuse the first row one of whose listed values is false."""
    if false.any():
        _raise(keys[int(np.searchsorted(starts, false.argmax(), "right")) - 1], rule)


def _refuse(keys: list[str], false: Bool, rule: str) -> None:
    """Refuse the first row that is false."""
    if false.any():
        _raise(keys[int(false.argmax())], rule)


def _raise(key: str, rule: str) -> NoReturn:
    raise ValueError(
        f"the sketch of {shown(key)} is damaged or not of docindex: {rule}; sketch the text again"
    )
