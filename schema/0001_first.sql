-- docindex, schema 1: documents, their contents, and the fingerprints of the contents, forward and inverted.
--
-- The file is an SQLite database. It may also hold the tables of an app, so all tables and indexes of docindex have a
-- prefix. Below, `document` stands for docindex_document, and so on. A file that docindex made for itself has
-- application_id 0x646F6369 ("doci").
--
-- Numbers inside a blob are unsigned and little-endian on every machine. xxh3-64 and xxh3-128 are hashes by xxHash
-- with seed 0. An xxh3-128 is stored as 16 bytes, the most significant byte first. The hashes of k-grams, shingles and
-- features, and the simhash, are docindex's own: docindex/kernels and docindex/sketching define them.
--
-- This script names the database as `main`. docindex puts the name of an attached database there.
--
-- In `content` and `text`, "UTF-8" includes lone surrogates (U+D800 to U+DFFF), each as 3 bytes.
--
-- Checksums. The column `sum` is a checksum of the other columns of its row: an xxh3-64, whose 64 bits are stored as a
-- signed integer. It is computed from these bytes, for each column except `sum`, in the order of the table:
--     NULL       byte 0
--     INTEGER    byte 1, then the value: 8 bytes, little-endian, two's complement
--     TEXT       byte 2, then the length of the text in UTF-8: 8 bytes, little-endian; then the text in UTF-8
--     BLOB       byte 3, then the length of the blob: 8 bytes, little-endian; then the blob
-- Example: a row with the values 1, 'a', NULL and x'' has the bytes (in hexadecimal)
--     01 0100000000000000  02 0100000000000000 61  00  03 0000000000000000
-- and the checksum -3341366732432730841.
--
-- In `posting`, `sum` is the xxh3-64 of `keys` whose seed is the id, as a signed integer.
--
-- Tallies. `tally` makes it possible to notice missing rows. Each of its rows is named after a table, counts the rows
-- of this table, and combines their checksums by exclusive or.

-- The parameters that turn texts into fingerprints and sketches. One row.
create table main.docindex_recipe (
    id integer primary key check (id = 1),
    schema integer not null,        -- the number of the last script in this folder that was run on the file
    json text not null,             -- the parameters as JSON; a missing parameter has its former default
    sum integer not null
) strict;

-- Each distinct text has one row, however many documents have it.
create table main.docindex_content (
    id integer primary key autoincrement, -- ascending; an id is never used again
    symbols integer not null,       -- number of symbols that the text was reduced to
    shingles integer not null,      -- number of different shingles; an estimate above 2^20
    kept integer not null,          -- 1 if the text is in `text`, else 0
    hashes integer not null,        -- number of different hashes of the fingerprints
    hash blob not null,             -- xxh3-128 of the text in UTF-8
    words_hash blob not null,       -- equal if and only if the texts have the same words; 16 bytes: xxh3-128 of three
                                    -- xxh3-128 end to end: of the symbols; of the number of symbols of each word; of the
                                    -- code points of the folded letters that are not ASCII, in order. Numbers have 32
                                    -- bits, little-endian. A text without words has no symbols and no lengths; in place
                                    -- of the letters stand its code points that are neither white space nor invisible
    characters integer not null,    -- length of the text, in code points
    fingerprints integer not null,  -- number of fingerprints; a hash that occurs twice counts twice
    simhash integer not null,       -- Charikar's simhash of the words and the pairs of neighbouring words, weighted by
                                    -- how often they occur: 64 bits stored as a signed integer: < and > mean nothing
    slots blob not null,            -- the min-hash sketch, 12 bits for each slot: the low 8 bits of all slots, a byte
                                    -- each; then their high 4 bits. The low half of the first of these bytes is of the
                                    -- first slot, its high half of the first one in the second half of the slots, and
                                    -- so on. The first half has one more if the number of slots is odd
    sum integer not null
) strict;

-- The documents that the host stored, each under a key of its own.
create table main.docindex_document (
    id integer primary key autoincrement, -- stays the same as long as the key is in use
    key text not null unique,
    content integer not null references docindex_content (id),
    meta text,                      -- JSON of the host's choice, or NULL
    added_at integer not null,      -- when the document got its present text: microseconds since 1970, UTC
    sum integer not null
) strict;
create index main.docindex_document_content on docindex_document (content);

-- The forward index: the fingerprints of a content in the order of their positions. Each row of a content has 125 of
-- them, except the last one, which has fewer, perhaps none; so a missing row is noticed. The parts of a content are
-- numbered from 0. The first gap of part 0 is counted from position 0, and the first gap of a later part from the last
-- position of the part before.
create table main.docindex_fingerprint (
    id integer primary key,         -- content << 20 | part
    numbers blob not null,          -- 6 bytes each. High bits: the distance from the previous position, in symbols, in
                                    -- as many bits as the window of the recipe needs. The others: the low bits of the
                                    -- 47 bits that winnowing selected; `mix` makes the hash of them, whose high 48 bits
                                    -- are compared
    highs blob not null,            -- the rest of these 47 bits in unary: as many bits 0 as the number says, then a bit
                                    -- 1; from the lowest bit of each byte on
    sum integer not null
) strict;

-- The inverted index consists of a few segments. Each is a sorted list of keys, cut into blocks. A key is the highest
-- `hash_bits` bits of a hash, followed by the id of a content minus the segment's `first`, which takes as many bits as
-- last - first needs. The hashes have 64 bits. There are three kinds:
--     fingerprints  the hashes of the fingerprints
--     traits        the features of a content, each without a quarter of it, rounded down; the bits 110, followed by
--                   the first 8 bytes of `hash`, little-endian, without their lowest three bits; and the bits 111,
--                   followed by those of `words_hash`. (Features are super-shingles: hashes of groups of slots.
--                   Contents that share some of them are near-duplicates.)
--     bands         three for each content, of its simhash: the number n of the band, which is 0, 1 or 2, in 2 bits;
--                   then the highest 62 bits of the simhash rotated left by 0, 22 or 43 bits. So simhashes are
--                   neighbours in the list if their highest 22, middle 21 or lowest 21 bits are equal
create table main.docindex_segment (
    id integer primary key autoincrement, -- a newer segment has a larger id
    kind integer not null,          -- 0: its hashes are those of fingerprints; 1: traits; 2: bands of simhashes
    first integer not null,         -- the smallest id that a content of this segment may have
    last integer not null,          -- the largest
    hash_bits integer not null,     -- number of bits of a hash in a key
    block_bits integer not null,    -- number of highest bits of a key that are the number of its block
    postings integer not null,      -- number of keys that were put in
    target integer,                 -- the segment that this one is being merged into, or NULL
    moved integer,                  -- NULL, except in the target of a merge that is not complete: how many blocks have
                                    -- been moved into it, counted in blocks of the smallest `block_bits` among the
                                    -- target and its sources
    sum integer not null
) strict;

-- The keys of one block, without their highest `block_bits` bits, which are the same in all of them. Of the remaining
-- b bits of a key, the lowest 8 * w are stored as bytes, where w is (b - 3) / 8, rounded down, and at least 1; the
-- others are its high bits, a number h. In the bitmap, bit h + i is set for key i of the block, which counts from 0;
-- the first bit is the lowest one of the first byte. The bitmap of n keys has n + 2^(b - 8 * w) bits, or n + 1 if b
-- is below 8 * w, rounded up to whole bytes. Each block of a segment has a row, also if it has no keys. During a
-- merge, the blocks that have been moved have rows in the target only, the others in the sources only.
create table main.docindex_posting (
    id integer primary key,         -- segment << 32 | block
    keys blob not null,             -- ascending: the low bytes of all keys, then the bitmap; empty without keys
    sum integer not null
) strict;

-- Contents that were removed but may still have keys in some segments.
create table main.docindex_dead (
    content integer primary key,
    segment integer not null        -- the newest segment at the time of the removal; later ones have no keys of it
) strict;

-- Broder's samples of the shingles (MIN_s, MOD_m and L_i), if the recipe asks for them: ascending values of 8 bytes.
create table main.docindex_sample (
    content integer primary key references docindex_content (id),
    min_s blob not null,
    mod_m blob not null,
    level blob not null,
    sum integer not null
) strict;

-- The texts that the host chose to keep. A row has up to 1,048,576 characters; the parts of a content are numbered
-- from 0.
create table main.docindex_text (
    id integer primary key,         -- content << 20 | part
    codec integer not null,         -- 0: UTF-8; 1: UTF-8 compressed with zlib; 2: the text is not here, but in a table
                                    -- of the app, and `data` is the name of this source in UTF-8
    data blob not null              -- the part, compressed on its own if the codec is 1
) strict;

-- How the texts of documents were extracted from other formats than plain text. A document that was added as a text
-- has no row. Many places with numbers, such as lines, are stored in `places` as "kind", "steps" from each number to the
-- next one, "columns" and "span", instead of the names.
create table main.docindex_extraction (
    document integer primary key,   -- id of the document
    reading text not null,          -- the name and version of the front end, such as 'docx-1'
    places blob not null,           -- JSON compressed with zlib: {"title": title or null, "gaps": [...], "places": [...]}.
                                    -- Each place is a name, or [name, [left, bottom, right, top]], and begins its gap
                                    -- after the one before, counted in code points of the text
    sum integer not null
) strict;

-- Boilerplate: texts that comparisons ignore.
create table main.docindex_boilerplate (
    id integer primary key autoincrement,
    name text not null unique,      -- the host's name for it
    hash blob not null unique,      -- xxh3-128 of the text in UTF-8
    text text not null,
    grams blob not null,            -- the high 48 bits of the hash of each different k-gram, ascending, 6 bytes each
    shingles blob not null,         -- the different shingles, ascending, 8 bytes each
    sum integer not null
) strict;

-- The files that scans of folders have seen. The kind 'container' says that a file has no text of its own, but
-- documents inside it; 'too much work' that it has no document, because it takes too much work for its size.
create table main.docindex_file (
    key text primary key not null,  -- the absolute path, and the key of the file's document; a byte that is not UTF-8
                                    -- is written as \xNN
    size integer not null,          -- in bytes
    mtime_ns integer not null,      -- time of the last change: nanoseconds since 1970; -1 if another change might
                                    -- leave it the same
    ctime_ns integer not null,      -- time of the last change of the file or its status, which no program can set:
                                    -- nanoseconds since 1970; on Windows the time when the file was made
    device integer not null,        -- 64 bits stored as a signed integer
    inode integer not null,         -- 64 bits stored as a signed integer
    kind text not null,             -- 'text': the file has a document; 'binary': it is in no format that was read;
                                    -- otherwise why it has no document: 'undetected' (the encoding of its text),
                                    -- 'encrypted', 'damaged', 'no text', 'too large', 'too slow', 'not installed'
    reading text not null,          -- the name and version of the front end that was asked. For plain text and binary
                                    -- files: '' if none was asked, 'none-1' if those of documents were, 'none-2' if
                                    -- those of archives were, too
    parts integer not null,         -- number of documents inside the file, whose keys begin with that of the file and !/
    problem text not null,          -- what could not be read in the file, in sentences; '' if all was read
    digest blob,                    -- xxh3-128 of the file's bytes, or NULL if it has not been needed yet
    sum integer not null
) strict, without rowid;

-- Tables of an app whose rows are documents. The index reads their texts there.
create table main.docindex_source (
    name text primary key not null, -- the name of the app's table
    key_column text not null,
    text_column text not null,
    meta_column text,               -- or NULL
    prefix text not null,           -- the key of a document is this prefix, followed by the value in `key_column`
    sum integer not null
) strict, without rowid;

-- The documents that are rows of a source.
create table main.docindex_sourced (
    document integer primary key,   -- id of the document
    source text not null,           -- name of the source
    value any not null              -- what the row has in `key_column`
) strict;

-- The rows of sources that were added, changed or removed, and that are not indexed yet. The triggers on the tables of
-- an app write here, and whoever uses the index next indexes the rows first.
create table main.docindex_changed (
    id integer primary key,
    source text not null,           -- name of the source
    value any not null              -- what the row has, or had, in `key_column`
) strict;
create index main.docindex_changed_value on docindex_changed (source, value);

-- Documents that SQL has added or replaced, and that are not indexed yet. Whoever uses the index next indexes them
-- first.
create table main.docindex_pending (
    key text primary key not null,
    id integer not null,            -- the id that the document has or gets
    text text not null,
    meta text                       -- JSON, or NULL
) strict, without rowid;

-- How many rows there are, and their checksums combined (see Tallies at the top). All tallies begin as 0.
create table main.docindex_tally (
    name text primary key not null,
    rows integer not null,
    total integer not null          -- 64 bits stored as a signed integer
) strict, without rowid;
insert into main.docindex_tally (name, rows, total) values
    ('boilerplate', 0, 0), ('content', 0, 0), ('document', 0, 0), ('extraction', 0, 0), ('file', 0, 0);
