"""Embed an index in an application: store documents in one file, and ask questions about them.

Documents
=========
An index stores documents. A document is a text under a key. Documents with the same text share one *content*.
A document can have `meta`, any JSON value. With ``durability="full"`` (the default) a commit survives a power
failure. With ``durability="normal"`` it survives a crash of the program, and is faster.

>>> import docindex
>>> index = docindex.open(":memory:")           # or a path; the file is made if it is missing
>>> index.add("ada.txt", "The Analytical Engine weaves algebraical patterns just as the loom weaves flowers.")
>>> index.add_many([("bob.txt", "The analytical engine weaves algebraical patterns, just as a loom weaves."),
...                 ("eve.txt", "Nothing in here is like the other two.", {"by": "Eve"})])
2
>>> len(index), index["eve.txt"].meta, index["eve.txt"].text[:7]
(3, {'by': 'Eve'}, 'Nothing')

A document that is added again without `meta` keeps its meta; `Index.update` changes the meta alone. Your own
tables refer to a document by its id: ``index[docindex.Id(3)]``. `Index.keys` lists the keys with a prefix,
and `Index.rename_prefix` renames a folder. The answers of questions are plain data: they can be pickled, and
`dataclasses.asdict` turns them into dictionaries.

Threads and processes
=====================
Any number of threads can share an `Index`, and any number of processes can open the same file. Readers never
wait, except in memory, where all threads share one connection. Writers wait for each other for up to
`timeout_s` seconds, and then get `Busy`.

Another thread can stop work: it then raises `Cancelled`, and committed work stays. `docindex.cancelling`
stops one piece of work, for example the last search when somebody types on. `Index.cancel` stops all work of
all other threads on this index.

>>> with docindex.cancelling() as token:                # token.cancel() from any thread stops the block
...     found = index.search("the loom weaves flowers")

A forked process cannot use a file that was open at the fork, or open it again: both raise `Forked`. Start
processes with the "spawn" or "forkserver" method, or fork before you open the index.

SQLite writes changes to the write-ahead log first, a file next to the index whose name ends in ``-wal``, and
copies them into the index later. The log cannot be emptied while somebody reads from it, so it grows during a
question that takes minutes. When it has 64 MB, changes wait up to a second for questions to end, and the
logger ``"docindex"`` warns of questions that do not. A change that could make the log larger than 128 MB
waits up to `timeout_s` seconds, then raises `Busy`, which names the reader. So do not leave read transactions
open. This holds for your own connections, too. (Changes that your own connections make are not limited.)

Close an index before you replace, move or remove its file. If you do not, every later call raises
`FileReplaced`, and nothing is written to the new file. Never remove the files that end in ``-wal`` and
``-shm`` while the index is open: other processes could lose their commits.

Questions
=========
A question is about a document, given by its key, or about any other text. Where a value could be either, wrap
it in `docindex.Key`, `docindex.Id` or `docindex.Text`. If you ask about a document, that document is one of
the answers. If a string finds nothing because it is too short, or resembles a key, the logger
``"docindex"`` says so, once for each.

>>> suspect = "He says: the engine weaves algebraical patterns just as the loom weaves."
>>> [(match.key, match.containment) for match in index.search(suspect)]
[('ada.txt', 1.0), ('bob.txt', 0.5)]

Measures
========
The three measures are shares of shingles: runs of `Recipe.shingle` words. Different shingles are counted:
repeats count once, unless the recipe has ``bag=True``.

- `containment`: the shared shingles, as a share of those of the query
- `reverse_containment`: the shared shingles, as a share of those of the document
- `resemblance`: the shared shingles, as a share of those of the two texts together

`shared` is how many different things the two texts share, and `basis` tells which things, and how the numbers
were obtained:

- "shingles": counted and exact. If the texts are kept, all numbers of `pairs`, `containments`, `clusters`,
  `similar`, `compare` and ``search(exact=True)`` are of this kind.
- "fingerprints": the shares of fingerprints, in `search`. (A query too short for a fingerprint finds the
  documents with its words; their numbers are those of `compare`.)
- "slots", "fingerprints" or "samples" if a text is not kept: the estimate with the smallest standard error.
  The errors are in `containment_error`, `reverse_containment_error` and `resemblance_error`. Samples are
  Broder's MOD_m and L_i, which recipes with `mod_m` or `level` store.

All questions give the same numbers for two documents, except `search`, which must be fast.

Which documents a question finds
================================
- `search` finds every document that shares a run of `Recipe.guarantee` symbols with the query. It never finds
  a document whose longest common run is shorter than `Recipe.k`, except that a query too short for a
  fingerprint finds the documents with exactly the same words. The first documents are the most similar to the
  query, or with ``rank="excerpt"`` those that contain most of it; rare fingerprints weigh more than common
  ones. With a larger `window` or a `budget`, fewer fingerprints are looked up: small copies may be missed,
  but the numbers stay the same.
- `similar`, `pairs`, `containments` and `clusters` miss nothing if the texts are kept. (By chance, a pair is
  missed with a probability below 10^-9.) Texts that are not kept may be missed or added if they are near the
  threshold. By default, no shingle is ignored because it is frequent, unless thousands of similar texts form
  too many pairs to count: then `pairs`, `containments` and `clusters` ignore shingles that more than 1000
  texts have, and `ignore_above` of the result says so. `docindex.folders.find` and the commands `dups`,
  `pairs` and `report` always ignore these, unless ``ignore_above=None`` or ``--ignore-common`` changes that.
- `sources` gives the few documents that together cover a text: first the one that covers most of it, then the
  one that covers most of the rest, and so on. They are chosen by fingerprints and measured by passages.
- `near` misses no document, at any distance up to 63 bits. Beyond 20 bits it reads all simhashes.
- `Match.passages` gives all maximal common runs of at least `Recipe.guarantee` symbols, and shorter ones that
  share a fingerprint, down to `min_length` symbols (by default 36). Passages begin and end at whole words,
  except where that would make a run that is always found shorter than `min_length`. If two texts repeat the
  same runs very often, each place is shown with at least one place in the other text, not with all of them.
  With `join`, neighbours become one passage.
- `Match.regions` and `Comparison.regions` also find reworded text: stretches whose sentences share many of
  their rarer words, in any order. A region that is "reworded" is evidence, not proof.

Boilerplate
===========
Boilerplate is text that comparisons ignore. `Index.boilerplate` has such texts, each as a `Template` with a
name: they count neither as shared nor as the document's own. Passages in boilerplate are marked as such
(`Passage.boilerplate`). ``ignore_above=n`` ignores shingles (in `search`, fingerprints) that more than n
texts have. Slots and simhash ignore no boilerplate.

>>> index.boilerplate.add("just as the loom weaves", name="the loom")
'the loom'
>>> index.close()

Conditions
==========
`where` restricts the answers to documents that meet an SQL condition on the table `document` (columns `key`,
`id`, `meta`, `added_at` and `content`). It is a string, or a string and its bindings, such as
``("meta ->> 'by' = ?", ["Ada"])``.

Several files
=============
An index that is made in parts, on several machines for example, need not be sketched again. `docindex.merge`
copies files into a new one. `Index.export_sketches` and
`Index.load_sketches` move documents with their sketches through Arrow tables, such as Parquet files.

Files from others
=================
``docindex.open(path, trusted=False)`` runs no trigger, view or function in the file's schema. The size
of values, texts and statements is limited, and docindex's tables must be unaltered. A text can have 100
million characters; all texts together can have 100 million, plus 50 for each byte of the file.
"""
