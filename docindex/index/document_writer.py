"""Store documents: the only way into a file, for `Index` and for the SQL table `doc_index`.

Takes documents with or without their sketches. Must never begin or commit a transaction.
"""

from collections.abc import Sequence

from docindex.recipe import Recipe
from docindex.sketching.sketcher import sketch_batches
from docindex.storage.file.connection import Connection
from docindex.storage.followed import rows
from docindex.storage.postings import segment_writer
from docindex.storage.rows import content_writer, contents, document_removal
from docindex.storage.rows.incoming_documents import Incoming


def write_documents(
    db: Connection, documents: Sequence[Incoming], recipe: Recipe, *, store_text: bool
) -> int:
    """Store documents within the caller's transaction, and add their fingerprints to the inverted index.

    Returns how many postings should still be merged, in further transactions.
    `ValueError` for a document that is a row of a followed table, unless it comes from there.

    If a key occurs several times, its last document is stored. Texts that are new to the index are sketched
    here, unless their sketches are given.
    """
    rows.refuse_rows(db, [document.key for document in documents if document.source is None])
    last: dict[str, Incoming] = {}
    for document in documents:
        earlier = last.get(document.key)
        if earlier is not None and document.keeps_meta:  # that of the earlier one, which is not stored
            document.meta, document.keeps_meta = earlier.meta, earlier.keeps_meta
        last[document.key] = document
    documents = list(last.values())
    known = contents.known(db, (document.hash for document in documents))
    sketched = {document.hash for document in documents if document.sketches is not None}
    new = {
        document.hash: document
        for document in documents
        if document.hash not in known and document.hash not in sketched and document.length is None
    }
    left = iter(new.values())
    for batch in sketch_batches([document.text for document in new.values()], recipe):
        for number in range(len(batch)):
            document = next(left)
            document.sketches, document.number = batch, number
    postings, replaced = content_writer.put_documents(db, documents, known, recipe, store_text=store_text)
    document_removal.drop_unused(db, replaced)
    return segment_writer.add_postings(db, postings)
