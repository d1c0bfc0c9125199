"""Embed an index in an application: documents in one file, questions about them, threads, and boilerplate.

Documents
=========
An index keeps documents, each a text under a key. Documents with the same text share one *content*. A
document can have `meta`, any JSON value. Each commit is durable: ``durability="full"`` (the default) survives
a power failure, ``durability="normal"`` survives the end of the program and is faster.

>>> import docindex
>>> index = docindex.open(":memory:")           # or a path; the file is made if it is missing
>>> index.add("ada.txt", "The Analytical Engine weaves algebraical patterns just as the loom weaves flowers.")
>>> index.add_many([("bob.txt", "The analytical engine weaves algebraical patterns, just as a loom weaves."),
...                 ("eve.txt", "Nothing in here is like the other two.", {"by": "Eve"})])
2
>>> len(index), index["eve.txt"].meta, index.text("eve.txt")[:7]
(3, {'by': 'Eve'}, 'Nothing')

Threads and processes
=====================
Any number of threads can share an `Index`, and any number of processes can open the same file. Readers never
wait. Writers wait for each other, up to `timeout_s`, and then get `Busy`. `Index.cancel` stops the work of
all other threads: they get `Cancelled`, and committed work stays. A process that forks opens the index again
in the child.

Questions
=========
A question is asked with the key of a document or with any other text. `docindex.Key`, `docindex.Id` and
`docindex.Text` say which of them a value is, where that is not clear. A document whose key was given is among
its own answers.

>>> suspect = "He says: the engine weaves algebraical patterns just as the loom weaves."
>>> [(match.key, match.containment) for match in index.search(suspect)]
[('ada.txt', 1.0), ('bob.txt', 1.0)]

Measures
========
`containment` is the share of the query that the document has, `reverse_containment` the share of the document
that the query has, `resemblance` the shared part of both together. `basis` tells how a number was obtained:

- "fingerprints": the different fingerprints are counted, in `search` and `pairs`
- "shingles": the different shingles are counted, in `similar` and `compare` if both texts are kept; exact
- "slots": estimated from the sketches, in `similar` and `compare` if a text is not kept. The standard errors
  are in `containment_error`, `reverse_containment_error` and `resemblance_error`

Which documents a question finds
================================
- `search` finds every document that shares a run of `Recipe.guarantee` symbols, and none whose longest common
  run is shorter than `Recipe.k`. The best are those that share the rarest fingerprints: a fingerprint that n
  texts have counts 1/n. A larger `window`, or a `budget` of hashes, looks up less: small copies may be
  missed, but the numbers stay the same.
- `similar` finds documents that share a fingerprint or features. Texts of a dozen words can resemble each
  other without either, and may be missed.
- `near` is complete up to a distance of 63 bits. Beyond 20 bits it reads all simhashes.
- `pairs` by fingerprints is complete. By "slots" and "features" it needs no texts, and its numbers are
  estimates.
- `Match.passages` gives all maximal common runs of at least `Recipe.guarantee` symbols, and shorter ones that
  share a fingerprint. Passages begin and end at whole characters. Two texts that repeat the same runs very
  often show each of their places with at least one partner, not with all.

Boilerplate
===========
Comparisons ignore the text of each template in `Index.boilerplate`: it counts neither as shared nor as the
document's own. ``ignore_above=n`` ignores fingerprints that more than n texts have. Slots, simhash and
passages do not know boilerplate.

>>> index.boilerplate.add("just as the loom weaves", name="the loom")
'the loom'
>>> index.close()

Conditions
==========
`where` restricts the answers to documents that fulfil an SQL condition on the table `document` (`key`, `id`,
`meta`, `added_at`, `content`): a string, or ``(string, bindings)`` such as ``("meta ->> 'by' = ?",
["Ada"])``.

Files from others
=================
``docindex.open(path, trusted=False)`` runs nothing that the file brings along: no triggers, views or
functions in its schema. Values and statements have limits, and the tables must be those of docindex.
"""
