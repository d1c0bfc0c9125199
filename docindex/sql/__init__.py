r"""SQL functions and tables that search, compare and change an index: the reference.

`docindex.register(connection)` adds them to a connection of apsw or of Python's sqlite3. You do
not need to call it for `index.execute(sql)`, for the command `docindex sql`, or in Datasette and
sqlite-utils.

    on a connection of   functions, aggregates   table functions         doc_index   doc_put, doc_remove
    apsw                 yes                     as tables and as JSON   yes         yes
    index.execute        yes                     as tables and as JSON   read only   no
    Python's sqlite3     yes                     as JSON only            no          yes

Python's sqlite3 cannot have virtual tables. There, each table function is a function that returns a
JSON array of objects; see "JSON" below. The functions `doc_put` and `doc_remove` change documents.

>>> import docindex
>>> index = docindex.open(":memory:")
>>> opening = "It is a truth universally acknowledged, that a single man in possession of a"
>>> index.add_many([("a.txt", opening), ("b.txt", opening + " good fortune must be in want of a wife.")])
2
>>> index.execute('''
...     select d.key, round(s.containment, 2) as share
...     from doc_search(?) as s join docindex_document as d on d.id = s.id
...     where s.containment > 0.5 order by s.score desc, d.key''', [opening])
[('a.txt', 1.0), ('b.txt', 1.0)]


Texts, documents and NULL
=========================
A *query* is TEXT or INTEGER. TEXT is always a text; an INTEGER is the id of a document. The columns
`id`, `a_id`, `b_id` ... of the tables are such ids, and `doc_key('ada.txt')` gives the id of the
document with this key. A TEXT that is exactly the key of a document is an error, because it is
nearly always a slip. If you mean the text, write `doc_literal('ada.txt')`; do the same where a
column of your own may contain any text, as in `doc_simhash(doc_literal(note.body))`.

A *symbol* is a byte of a letter, digit or picture in the form that docindex compares, without case
and accents; an ideograph or a picture is two symbols. A *fingerprint* is the hash of a selected run
of symbols: 15 symbols in the default recipe. A *shingle* is a run of words: 5 words in the default
recipe. A *sketch* is a min-hash sketch of the shingles; its numbers are the *slots*, and *features*
are hashes of groups of slots. *Boilerplate* is text that comparisons ignore; a *template* is one
such text with its name.

NULL: a scalar function returns NULL if an argument other than the schema is NULL; but `doc_put` and
`doc_remove` refuse a key or a text that is NULL. An aggregate ignores NULL. A table function gives
no rows if a required argument is NULL. For other arguments, NULL means the default value.

`schema` is the last, optional argument of the functions marked with [schema], and a hidden column
of every table except `doc_index`. It names the attached database to use. Without it, docindex uses
the first database of the connection that is an index. If an index was given to `register`,
docindex uses that index, and a schema is an error. Functions that take only texts also work
without an index; then they use the default recipe.

All scalar functions except `doc_put`, `doc_remove` and `doc_error` are deterministic, so an SQL
index on an expression can use them. If such an expression names a document by its id, the SQL index
becomes wrong when that document changes.

    >>> import apsw
    >>> db = apsw.Connection(":memory:")
    >>> docindex.register(db)
    >>> sql = "select doc_containment('to be or not to be', 'To be, or not to be: that ...')"
    >>> db.execute(sql).fetchall()
    [(1.0,)]
    >>> db.execute("select doc_resemblance('to be', null)").fetchall()
    [(None,)]
    >>> db.close()


Scalar functions
================
doc_resemblance(a, b) [schema]
    The shared shingles of a and b, as a share of those of the two texts together, without
    boilerplate. Repeats count once. The number is exact. But if a or b is a document whose text is
    not stored, it is an estimate: see doc_basis.
doc_containment(a, b) [schema]
    The shared shingles of a and b, as a share of those of a. Boilerplate, repeats and estimates
    are treated as in doc_resemblance.
doc_basis(a, b) [schema]
    How doc_resemblance and doc_containment obtain their numbers for a and b. "shingles": they are
    counted and exact. "slots", "fingerprints" or "samples": they are estimates from this part of
    the sketches.
doc_simhash(query) [schema]
    The simhash: 64 bits, as a signed INTEGER. Similar texts differ in few bits.
doc_distance(x, y)
    The number of bits in which two simhash values differ: 0 to 64.
doc_sketch(query) [schema]
    The min-hash slots, as a BLOB of 2 bytes for each slot, little-endian. A slot has 12 bits.
doc_sketch_resemblance(x, y)
    The resemblance of two texts, estimated from their sketches: the share of equal slots.
doc_features(query) [schema]
    The features, as a JSON array of signed 64-bit integers.
doc_canonical(query) [schema]
    The words of a text in the form that docindex compares: lower case, without accents or
    punctuation. The text of a document must be stored.
doc_key(key) [schema]
    The id of the document with this key. An error that names similar keys if there is no such
    document.
doc_literal(text)
    Marks a query as a text, even if it is the key of a document. The result is a BLOB.
doc_text(id) [schema]
    The text of a document; NULL if the text is not stored. A lone surrogate, which SQLite cannot
    pass on, is shown as U+FFFD.
doc_snippet(id, query, open, close, ellipsis, symbols) [schema]
    The stretch of a document that shares most with the query. What they share (the passages of
    doc_passages, without boilerplate) stands between `open` and `close`; `ellipsis` stands where
    text is left out. The stretch has about `symbols` symbols and ends between words. If they share
    no passage, it is the beginning of the document. The last four arguments can be left out; they
    are '[', ']', '…' and 160. NULL if a text is not stored.
doc_highlight(id, query, open, close) [schema]
    The whole text of a document, with the same marks.
doc_filter(k, s, r, x)
    The probability that two texts of resemblance x share at least r of their k features, if each
    feature is made of s slots.
doc_density(window)
    2 / (window + 1): the share of the k-grams of a text that winnowing selects.
doc_version()
    The version of docindex.
doc_error()
    Only on Python's sqlite3: the message of the last error, or NULL. See "Errors".

doc_put(key, text, meta) [schema]
    Stores a document, or replaces the document with that key. `meta` is JSON. Without `meta`, a
    document that exists keeps its meta; NULL removes it. Returns the id of the document. See
    "Changes".
doc_remove(key) [schema]
    Removes a document. Returns 1, or 0 if there is no document with that key. See "Changes".
doc_flush() [schema]
    Indexes the documents that are queued. Returns the number of these documents. See "Changes".

    >>> index.execute("select doc_canonical('Où est le Café?'), doc_filter(6, 14, 2, 0.95) > 0.8")
    [('ou est le cafe', 1)]
    >>> index.execute("select key, doc_snippet(id, ?, '<b>', '</b>') from doc_search(?1) limit 1",
    ...               ["So it is a truth universally acknowledged, that!"])
    [('a.txt', '<b>It is a truth universally acknowledged, that</b> a single man in possession of a')]
    >>> index.execute("select round(doc_resemblance(doc_key('a.txt'), doc_key('b.txt')), 2)")
    [(0.53,)]
    >>> index.execute("select doc_resemblance('a.txt', 'b.txt')")    # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: doc_resemblance: 'a.txt' is the key of a document; write doc_key(...) for that ...
    >>> index.execute("select doc_distance(doc_simhash('one two'), doc_simhash('One, two!'))")
    [(0,)]


Aggregates
==========
doc_common(query)
    The shingles that all texts share, as a share of all their shingles. For two texts, this is
    their resemblance. NULL if there is no text. The texts of documents must be stored.
doc_group(key, text, min_resemblance)
    The groups of rows whose texts resemble each other, as a JSON array with one object for each row
    in a group: cluster, key, why, like, resemblance, as in doc_clusters. `key` is whatever names
    the row: INTEGER, REAL or TEXT, not necessarily unique. A pair has at least `min_resemblance`,
    which can be left out and is 0.8. NULL if there is no text. No index is needed, and it adds no
    document; if there is one, its recipe and its boilerplate are used.
doc_sketch_union(sketch)
    The sketch of all texts together, made from their sketches. NULL if there is no sketch.

    >>> index.execute("select round(doc_common(id), 2) from docindex_document")
    [(0.53,)]
    >>> index.execute('''
    ...     with note (id, body) as (values (7, 'to be or not'), (8, 'something'), (9, 'To be, or not'))
    ...     select value ->> 'cluster', value ->> 'key'
    ...     from json_each((select doc_group(id, body) from note))''')
    [(1, 7), (1, 9)]


Table functions
===============
Each table function asks the method of `docindex.Index` that its entry names. The parameters have
the names, the order, the meaning and, if the entry does not say otherwise, the defaults of the
Python method. There is one exception: `distance` of `Index.near` is `max_distance` here, because
`distance` is a column. Parameters marked with * are required. The others are optional; the default
follows "=".

Each parameter is also a hidden column: `select key from doc_search where query = ?` is the same as
`select key from doc_search(?)`. So parameters can be given by name after `where`. (Between the
brackets, `doc_pairs(limit=5)` compares for SQL, and gives no rows.) In SQL, `where` and `limit` are
keywords: write "where" and "limit" in quotes, and also "between".

    >>> sql = 'select key from doc_search(?) where "where" = ? and min_containment = 0.9'
    >>> index.execute(sql, [opening, "key < 'b'"])
    [('a.txt',)]

where
    A condition on the columns `key`, `id`, `meta` ... of the table `document`, as TEXT. Only
    documents that meet it are compared. To put a value into it, use SQLite's function format:
    `format('key like %Q', ?)`. It cannot use other tables, or functions that SQLite does not call
    innocuous; put such a condition into the statement itself.
boilerplate
    1 ignores all boilerplate of the index, 0 ignores nothing. A JSON array of names ignores the
    templates with these names.
[measures]
    The columns containment, reverse_containment, resemblance, shared, basis, containment_error,
    reverse_containment_error and resemblance_error, as in `docindex.Measures`. The first three are
    shares of shingles. With the `basis` "shingles" they are counted and exact; otherwise they are
    estimates, by "fingerprints", "slots" or "samples", and the errors are their standard errors.
    `shared` is how many different shingles, fingerprints, slots or samples both texts have.

doc_search(query*, window=NULL, budget=NULL, min_containment=0, min_reverse_containment=0,
           min_resemblance=0, min_shared=0, limit=20, where=NULL, rank='likeness',
           ignore_above=NULL, exact=0, boilerplate=1)
    key, id, score, [measures]

    The documents that share fingerprints with the query, best first. See `Index.search`, and
    "Thresholds" for when the default limit holds.

doc_similar(query*, min_resemblance=0.8, limit=NULL, where=NULL, method='shingles',
            boilerplate=1)
    key, id, [measures]

    The documents that resemble the query, most similar first. See `Index.similar`.

doc_sources(query*, limit=20, min_share=0.01, where=NULL, boilerplate=1)
    key, id, added, covered, added_symbols, basis, uncovered, stretches, copies

    The few documents that together cover the query, the one that adds most first. `added` is the
    share of the query's symbols that a document covers and no document before it, `covered` the
    share that it covers by itself, `added_symbols` the number of the symbols that it adds.
    `uncovered` is the share that no document covers, the same in all rows. `stretches` is a JSON
    array of what the document adds: objects with query_start, query_end, start, end and length.
    `copies` is a JSON array of the keys of the other documents with the same content. The `basis`
    is "passages", or "fingerprints" if the text of the document is not stored; then the numbers are
    estimates, and start and end are null. See `Index.sources`.

doc_near(query*, max_distance=5, where=NULL)
    key, id, distance

    The documents whose simhash differs from that of the query in at most `max_distance` bits (0 to
    63), nearest first. See `Index.near`.

doc_passages(a*, b*, min_length=NULL, boilerplate=1, join=0)
    query_start, query_end, start, end, length, identical, query_line, line, query_place, place,
    is_boilerplate, text

    The passages that two texts share. `query_start` and `query_end` are offsets in a, and `start`
    and `end` are offsets in b, in characters. `length` is the number of symbols that are the same.
    Passages that follow each other in both texts, with at most `join` symbols between them, become
    one; then `identical` is the share of the symbols that are the same. `query_line` and `line` are
    the lines of a and b where the passage begins, counted from 1. `query_place` and `place` are the
    places in the sources of a and b, such as "page 3"; '' for plain text. `text` is the passage in
    a. Runs shorter than `min_length` symbols are left out; by default that is 36, or the guarantee
    of the recipe if that is less. But if one text is nothing but the run, it is a passage, however
    short. `is_boilerplate` is 1 if the passage would be too short without the text of templates,
    otherwise 0. The texts of documents must be stored. See `Index.compare`.

doc_regions(a*, b*, boilerplate=1)
    query_start, query_end, start, end, kind, score, sentences, shared_words, query_line, line,
    query_place, place, text

    The stretches of a that were made from stretches of b. `kind` is "verbatim" if passages fill the
    stretch, otherwise "reworded": its sentences share many of their rarer words. `score` says how
    alike the sentences are, 0 to 1. `sentences` is the number of sentences of a that have a
    sentence like them in b, and `shared_words` the number of different words that both stretches
    have. The other columns are those of doc_passages. See `Comparison.regions`.

doc_pairs(min_resemblance=NULL, min_containment=NULL, where=NULL, ignore_above=NULL,
          method='shingles', boilerplate=1, min_shared=0, between=NULL, rank='measure')
    a, b, a_id, b_id, [measures]

    The pairs of documents that share text; `a` and `b` are their keys, `a_id` and `b_id` their ids.
    Give `min_resemblance` or `min_containment`, but not both; without them, `min_resemblance` is 0.5.
    `between` is a JSON array of two conditions like `where`: only pairs of a document `a` that
    fulfils the first and a document `b` that fulfils the second. `rank` is 'measure' or 'shared'.
    See `Index.pairs`.

doc_containments(min_containment=0.8, where=NULL, ignore_above=NULL, method='shingles',
                 boilerplate=1)
    a, b, a_id, b_id, [measures]

    The pairs of documents in which b contains this share of a. See `Index.containments`.

doc_clusters(min_resemblance=0.8, linkage='connected', where=NULL, ignore_above=NULL,
             method='shingles', boilerplate=1)
    cluster, key, id, why, like, like_id, resemblance

    The groups of similar documents, numbered from 1. `why` is the reason why the document is in
    the cluster: "first", "exact copy", "same words" or "near". `like` is the key of an earlier
    member that the document resembles, or NULL for the first member. `resemblance` is the
    resemblance to `like`. With the `linkage` 'connected', a chain of similar documents links any
    two members; with 'greedy', each member is similar to the first; with 'complete', any two
    members are similar. See `Index.clusters`.

doc_fingerprints(query*)
    hash, position, offset, line, column

    The fingerprints that winnowing selects from a text. `position` counts symbols, and `offset`
    counts characters; `line` and `column` begin at 1. `hash` is the same number as in
    `fingerprint_list`. The text of a document must be stored. See `docindex.fingerprints`.

    >>> sql = "select d.key, round(added, 2), value ->> 'start' from doc_sources(?) d, json_each(stretches)"
    >>> index.execute(sql, ["They say: it is a truth, universally acknowledged, that a single MAN, too"])
    [('a.txt', 0.82, 0)]
    >>> index.execute("select key, basis, round(resemblance, 2) from doc_similar(doc_key('a.txt'), 0.5)")
    [('a.txt', 'shingles', 1.0), ('b.txt', 'shingles', 0.53)]
    >>> sql = "select query_start, start, text from doc_passages(?, 1)"
    >>> index.execute(sql, ["They say: it is a truth, universally acknowledged, that a single MAN, too"])
    [(10, 0, 'it is a truth, universally acknowledged, that a single MAN')]

    >>> index.execute('''
    ...     select p.a, p.b, s.length
    ...     from doc_pairs as p, doc_passages(p.a_id, p.b_id) as s where p.resemblance > 0.3''')
    [('a.txt', 'b.txt', 62)]

Tables can be joined in any order, and arguments can come from other tables: `from note,
doc_search(note.body) as s`.


Thresholds
==========
A condition on a result column is the threshold of the question. The rules, first to last:

1. An argument is the threshold. Conditions select from the rows that it gives.
2. Without it, the limit in a condition is the threshold, whether it is above or below the default:
   `resemblance >= 0.3`, `> 0.3`, `= 0.3` and `between 0.3 and 0.5` all ask for a resemblance of 0.3
   or more, and `distance <= 20` asks for distances up to 20. A limit of 0 or below asks for all
   documents that have anything in common. Of several conditions, only one is the threshold.
3. Without a limit, any other comparison with a number that says how much is shared asks for all
   documents that have anything in common: `resemblance < 0.5`, `shared > 20`, `distance <> 0`.
   These numbers are containment, reverse_containment, resemblance, shared, distance and length.
4. Without such a comparison, the default is the threshold.

    >>> index.execute("select key, round(resemblance, 2) from doc_similar(doc_key('a.txt'))")
    [('a.txt', 1.0)]
    >>> sql = "select key, round(resemblance, 2) from doc_similar(doc_key('a.txt')) where resemblance > 0.3"
    >>> index.execute(sql)
    [('a.txt', 1.0), ('b.txt', 0.53)]

These conditions set these parameters:

    doc_search          containment, resemblance, shared >= ...     min_...
    doc_similar         resemblance >= ...                          min_resemblance
    doc_near            distance <= ...                             max_distance
    doc_passages        length >= ...                               min_length
    doc_pairs           resemblance >= ...                          min_resemblance
                        containment, reverse_containment >= ...     min_containment
    doc_containments    containment >= ...                          min_containment
    doc_clusters        resemblance >= ...                          min_resemblance

The same holds for the limit of `doc_search`, which is 20 by default. An argument is the limit; in
SQL, -1 means no limit. Without it, `limit 50` of the statement is the limit. If the statement has
conditions on the result, another order than `order by score desc`, or an offset, it gets all
documents and selects from them itself. Otherwise the limit is 20. It is also 20 for `count(*)`, and
for each row of a joined table.

    >>> index.execute('select count(*) from doc_search(?) where "limit" = -1', [opening])
    [(2,)]

In `doc_clusters` another threshold makes other clusters. So only the second and the fourth rule
hold there, and `resemblance < 0.9` selects from the clusters of the default.

The limit can come from another table: `from wish, doc_pairs as p where p.resemblance >= wish.least`.

SQLite shows a table only conditions that are joined by AND and compare a column. All others select
from the rows that the default, or an argument, gives, and from the best 20 of `doc_search`:

- an OR, such as `resemblance >= 0.3 or shared > 9`
- conditions on an expression, such as `round(resemblance, 1) >= 0.3`
- comparisons with a table to the right of a `left join`
- conditions outside a materialized subquery

In these cases give the argument as well: `doc_pairs(0.1) where resemblance >= 0.3 or shared > 9`.


Tables
======
fingerprint_list
    document, position, hash

    All fingerprints of all documents; `document` is the id. The conditions `document = ...` and
    `hash = ...` are looked up. A statement without either of them reads all fingerprints. Only on
    apsw.

doc_index
    key, id, text, meta, added_at

    The documents of the main database. You can insert, update and delete them. The columns to set
    are `key`, `text` and the optional `meta`, which is JSON; the index sets `id` and `added_at`,
    the time when the document got its present text, as "2026-11-19T11:14:17.123456Z" in UTC;
    compare `datetime(added_at)` with other times of SQLite. `text` is NULL if the text is not
    stored. It shows a lone surrogate, which SQLite cannot pass on, as U+FFFD; an update with `text
    = text` keeps the surrogate. `insert or replace` and the other conflict clauses work as usual;
    `returning` and upsert do not work. Only on apsw, and only if no index was given to `register`.
    See "Changes".

    >>> index.execute("select key from doc_index where datetime(added_at) > datetime('now', '-1 hour')")
    [('a.txt',), ('b.txt',)]
    >>> index.execute("select count(*) > 0 from fingerprint_list where document = 1")
    [(1,)]
    >>> index.execute("select key, text = ? as is_opening from doc_index where id = 1", [opening])
    [('a.txt', 1)]
    >>> index.close()


Changes
=======
`doc_put` and `doc_remove` change documents on both libraries; inserts, updates and deletes on
`doc_index` change them on apsw. A change belongs to the transaction of the connection. Outside a
transaction it is committed at once. It is done completely or not at all: if it fails halfway inside
a statement that writes, for example in a trigger because the disk is full, the whole transaction is
rolled back. A change waits for another writer, up to the busy timeout of the connection, also if it
is the first statement after `begin`. If the transaction has already read from the file, the change
does not wait: it fails at once, like any change in SQLite.

Inside a transaction, `doc_put` and inserts into `doc_index` only queue documents, because a batch
is indexed ten times as fast. The next question or change, in any process, indexes the queue first.
A plain `select` from a table such as `docindex_document` does not index the queue: call
`doc_flush()` first.

An index can follow a table of an app in the same file, and read the texts there instead of keeping
copies of them: `index.follow` in Python, or on apsw a virtual table. Its triggers only queue the
changed rows, so every program can change the table. A hidden column with the name of the virtual
table takes commands: 'rebuild' indexes all rows again, and makes lost triggers again;
'integrity-check' is an error if the index is damaged, or misses rows or triggers.
A virtual table in an attached database follows a table there: ``create virtual table side.note_index``.

    >>> import apsw
    >>> app = apsw.Connection(":memory:")
    >>> docindex.register(app)
    >>> _ = app.execute('''
    ...     create table note (id integer primary key, body text);
    ...     create virtual table note_index using doc_index(content='note', key='id', text='body');
    ...     insert into note (body) values ('to be or not to be'), ('something else')
    ... ''')
    >>> app.execute("select key, text from note_index").fetchall()
    [('1', 'to be or not to be'), ('2', 'something else')]
    >>> _ = app.execute("insert into note_index (note_index) values ('integrity-check')")

Other arguments are `meta`, a column with JSON, and `prefix`, which comes before each key. Triggers of
your own can also call `doc_put`. Then a connection without docindex can read the table, but cannot
change it.

    >>> import sqlite3, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> docindex.open(f"{folder.name}/notes.db").close()      # makes the file an index
    >>> notes = sqlite3.connect(f"{folder.name}/notes.db")
    >>> docindex.register(notes)
    >>> _ = notes.executescript('''
    ...     create table note (id integer primary key, body text not null);
    ...     create trigger note_added after insert on note begin
    ...         select doc_put('note/' || new.id, new.body);
    ...     end;
    ...     create trigger note_changed after update on note begin
    ...         select doc_remove('note/' || old.id) where old.id <> new.id;
    ...         select doc_put('note/' || new.id, new.body);
    ...     end;
    ...     create trigger note_removed after delete on note begin
    ...         select doc_remove('note/' || old.id);
    ...     end;
    ... ''')
    >>> with notes:
    ...     _ = notes.execute("insert into note values (1, 'to be or not to be'), (2, 'something else')")
    >>> _ = notes.execute("delete from note")
    >>> notes.rollback()                                      # the documents are back, too
    >>> with notes:
    ...     _ = notes.execute("update note set body = 'something new' where id = 2")
    >>> notes.execute("select doc_flush()").fetchall()
    [(2,)]
    >>> notes.execute("select id, key, doc_canonical(id) from docindex_document").fetchall()
    [(1, 'note/1', 'to be or not to be'), (2, 'note/2', 'something new')]
    >>> notes.close()

A trigger or a view can use these functions and `doc_index` only on a connection that trusts the
schema. That is SQLite's default; `pragma trusted_schema` changes it.

On apsw, triggers can also use `doc_index`:

    >>> db = apsw.Connection(f"{folder.name}/notes.db")
    >>> docindex.register(db)
    >>> db.execute('''
    ...     create table page (id integer primary key, body text not null);
    ...     create trigger page_added after insert on page begin
    ...         insert into doc_index (key, text) values ('page/' || new.id, new.body);
    ...     end;
    ...     create trigger page_changed after update on page begin
    ...         update doc_index set key = 'page/' || new.id, text = new.body where key = 'page/' || old.id;
    ...     end;
    ...     create trigger page_removed after delete on page begin
    ...         delete from doc_index where key = 'page/' || old.id;
    ...     end;
    ...     insert into page values (1, 'the first page');
    ...     update page set body = 'another page';
    ... ''').fetchall()
    []
    >>> db.execute("select key, text from doc_index where key like 'page/%'").fetchall()
    [('page/1', 'another page')]
    >>> db.close()

If the index is in a separate file, attach that file. `doc_put` and `doc_remove` find it, also in
triggers. But if your statement fails halfway, SQLite undoes its changes only in the files that the
statement names. The changes that these functions made in another file stay, so roll back the
transaction. On apsw, a table made with `using doc_index` avoids this problem. Its triggers must be
temporary, because only temporary triggers can write to another file by name. The triggers for update
and delete are like those above.

    >>> docindex.open(f"{folder.name}/notes.docindex").close()
    >>> app = apsw.Connection(f"{folder.name}/app.db")
    >>> app.execute("attach ? as idx", (f"{folder.name}/notes.docindex",)).fetchall()
    []
    >>> docindex.register(app)
    >>> app.execute('''
    ...     create virtual table if not exists idx.indexed using doc_index;
    ...     create table note (id integer primary key, body text not null);
    ...     create temp trigger note_added after insert on note begin
    ...         insert into indexed (key, text) values ('note/' || new.id, new.body);
    ...     end;
    ...     insert into note values (1, 'to be or not to be');
    ... ''').fetchall()
    []
    >>> app.execute("select key from doc_near('To be, or not to be')").fetchall()
    [('note/1',)]
    >>> app.close()


JSON
====
Each table function also exists as a function with the ending `_json`: `doc_search_json`,
`doc_similar_json`, `doc_sources_json`, `doc_near_json`, `doc_passages_json`, `doc_regions_json`,
`doc_pairs_json`,
`doc_containments_json`, `doc_clusters_json`, `doc_fingerprints_json`. It takes the same parameters,
then [schema]; or the required ones, then a JSON object with the others. It returns a JSON array
with one object for each row; the names in the object are the columns. Without rows it returns
"[]". Conditions on the rows are no thresholds here.

    >>> connection = sqlite3.connect(f"{folder.name}/notes.db")
    >>> docindex.register(connection)
    >>> connection.execute('''
    ...     select value ->> 'key', value ->> 'distance'
    ...     from json_each(doc_near_json('to be, or not to be'))''').fetchall()
    [('note/1', 0)]
    >>> options = '{"max_distance": 40}'
    >>> connection.execute("select json_array_length(doc_near_json('to be', ?))", (options,)).fetchone()
    (3,)


What a connection sees
======================
Functions and tables run on the connection itself, on both libraries. They see the changes of its
open transaction, and the databases that are attached at the time of the call; docindex opens no
other connection to the file.

In one process, use a file through one SQLite library only. docindex and apsw use one library, Python's
sqlite3 uses another, and neither sees the locks of the other. If your application uses the file
through sqlite3, call `docindex.register` on its connections, and ask and change with SQL there:
`doc_search_json`, `doc_put`, `doc_remove`. An index that `docindex.open` returned raises
`docindex.Busy` as long as a connection of sqlite3 in the same process uses its file.

A question is part of your statement: interrupt the connection, or set a progress handler, to stop
it. `register(connection, limit_s=2)` limits a question on sqlite3 to two seconds. It can take a
little longer, because the current step is finished first: a step of SQLite, or a part of a very
long text. Then no argument may have more than 5 MB; `most_text_bytes` sets another limit. In
Datasette, `sql_time_limit_ms` sets the limit of time, and no value may have more than 40 MB.

On sqlite3, the `text_factory` and the `row_factory` of the connection do not change an answer. With
`detect_types`, do not register converters for INTEGER, TEXT or BLOB. A condition in `where` can use
only SQLite's own functions, but not one that the connection has replaced.


Errors
======
An error message names the function, the value that was found and the value that was expected.
Python's sqlite3 hides this message: it only says "user-defined function raised exception". So the
message goes to the log `docindex`, and `doc_error()` returns it until the next error. In Datasette,
all connections to a database share the message, because each request may get another one. If the
host interrupts a statement inside a function, sqlite3 says the same instead of "interrupted".

    select doc_simhash(1.5)     sqlite3.OperationalError: user-defined function raised exception
    select doc_error()          doc_simhash: expected TEXT, or the INTEGER id of a document, not REAL

    >>> connection.close()
    >>> folder.cleanup()

`index.execute` and `docindex sql` without `--write` never change anything. On apsw, all functions
and tables except `doc_put`, `doc_remove` and `doc_index` can be used in views and triggers of a file
whose schema is not trusted.
"""
