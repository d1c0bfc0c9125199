"""Count in how many texts of an index each word occurs, for `docindex.simhash(text, idf=...)`.

Reads the kept texts one by one, so that memory stays constant. Must never change what is stored.
"""

from collections.abc import Iterator

from docindex.query.scope import Scope
from docindex.sketching.single_text import word_hashes
from docindex.sketching.word_weights import WordWeights, word_weights
from docindex.storage import bulk, contents


def weigh_words(scope: Scope) -> WordWeights:
    """The rarity of the words of the kept texts whose documents fulfil the condition of the scope."""
    chosen = scope.chosen()

    def texts() -> Iterator[str]:
        for content in (bulk.sizes(scope.db).contents if chosen is None else chosen).tolist():
            scope.check_cancelled()
            text = contents.text_of(scope.db, content)
            if text is not None:
                yield text

    return word_weights((word_hashes(text, scope.recipe) for text in texts()), scope.recipe)
