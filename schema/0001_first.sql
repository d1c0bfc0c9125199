-- docindex, schema 1: documents, their contents, and the fingerprints of the contents, forward and inverted.
--
-- The file is an SQLite database with application_id 0x646F6369 ("doci"). user_version is the number of the last
-- script of this folder that the file has had.
--
-- Numbers inside a blob are unsigned and little-endian on every machine. Hashes are made by xxHash with seed 0:
-- xxh3-64, or xxh3-128 as 16 bytes, the most significant byte first.
--
-- Checksums. A column `sum` is a checksum of the other columns of its row: the xxh3-64 of these bytes, with its
-- 64 bits stored as a signed integer. For each column except `sum`, in the order of the table:
--     NULL       byte 0
--     INTEGER    byte 1, then the value: 8 bytes, little-endian, two's complement
--     TEXT       byte 2, then the length of the text in UTF-8: 8 bytes, little-endian; then the text in UTF-8
--     BLOB       byte 3, then the length of the blob: 8 bytes, little-endian; then the blob
-- Example: a row with the values 1, 'a', NULL and x'' has the bytes (in hexadecimal)
--     01 0100000000000000  02 0100000000000000 61  00  03 0000000000000000
-- and the checksum -3341366732432730841.

-- The parameters that turn texts into fingerprints and sketches. One row.
create table recipe (
    id integer primary key check (id = 1),
    json text not null,             -- the parameters as JSON; a reader gives a missing one its former default
    sum integer not null
) strict;

-- Each distinct text has one row, however many documents have it.
create table content (
    id integer primary key autoincrement, -- ascending; never used again after a removal
    hash blob not null,             -- xxh3-128 of the text in UTF-8
    reading text not null,          -- the name and version of the reading that made the symbols
    symbols_hash blob not null,     -- xxh3-128 of the symbols: equal for texts that differ only in formatting
    characters integer not null,    -- length of the text, in code points
    symbols integer not null,       -- length of its reading, in symbols
    shingles integer not null,      -- number of different shingles; an estimate above 2^20
    fingerprints integer not null,  -- number of fingerprints; a hash that occurs twice counts twice
    hashes integer not null,        -- number of different hashes among them
    simhash integer not null,       -- 64 bits read signed: compare with = only
    slots blob not null,            -- the min-hash sketch, 4 bytes a slot
    parts integer not null,         -- number of rows that `text` has for it; 0 if the text is not kept
    sum integer not null,
    unique (hash, reading)
) strict;
create index content_symbols on content (symbols_hash);
-- The simhash as it is, and rotated left by 22 and by 43 bits. Values with the same highest 22, middle 21 or lowest
-- 21 bits are neighbours in one of these indexes, so a query need not read the rows of `content`.
create index content_simhash on content (simhash);
create index content_simhash_22 on content ((simhash << 22) | ((simhash >> 42) & 4194303));
create index content_simhash_43 on content ((simhash << 43) | ((simhash >> 21) & 8796093022207));

-- The documents that the host stored, each under a key of its own.
create table document (
    id integer primary key autoincrement, -- stays the same as long as the key is in use
    key text not null unique,
    content integer not null references content (id),
    meta text,                      -- JSON of the host's choice, or NULL
    added_at integer not null,      -- when the document got its present text: microseconds since 1970, UTC
    sum integer not null
) strict;
create index document_content on document (content);

-- The forward index: the fingerprints of a content in the order of their positions, in parts of 65,536.
create table fingerprint (
    id integer primary key,         -- content << 20 | part
    hashes blob not null,           -- the high 48 bits of each hash, 6 bytes
    gaps blob not null,             -- distance from the position before (the first one: from 0), in symbols; 1 byte
                                    -- each if the recipe's window is below 256, else 2
    sum integer not null
) strict;

-- The inverted index consists of a few segments. Each is a sorted list of keys, cut into blocks.
-- A key is the high bits of a hash, followed by the id of a content minus the segment's `first`.
create table segment (
    id integer primary key autoincrement, -- ascending by age
    first integer not null,         -- the smallest id of a content
    last integer not null,          -- the largest id of a content; last - first needs as many bits as a key has for it
    hash_bits integer not null,     -- number of high bits of a hash in a key
    block_bits integer not null,    -- how many of these bits name the block; they are left out of its keys
    postings integer not null,      -- number of keys that were put in
    target integer,                 -- the segment that this one is being merged into, or NULL
    moved integer                   -- for a target whose merge is not complete: how much of the range of hashes has
                                    -- been moved, in blocks of the largest size among it and its sources; else NULL
) strict;

create table posting (
    id integer primary key,         -- segment << 32 | block
    keys blob not null              -- ascending keys, each in as few bytes as the segment's numbers allow
) strict;

-- Contents that were removed, but may still have keys in some segments.
create table dead (
    content integer primary key,
    segment integer not null        -- the newest segment at the removal: newer ones have no keys of the content
) strict;

-- Super-shingles. Contents that share some of them are near-duplicates.
create table feature (
    value integer not null,         -- 64 bits read signed: compare with = only
    content integer not null,       -- not a foreign key: removing a content would scan this table to enforce it
    primary key (value, content)
) strict, without rowid;

-- Broder's sketches of the shingle set, for recipes that ask for them: ascending values of 8 bytes.
create table sample (
    content integer primary key references content (id),
    min_s blob not null,
    mod_m blob not null,
    level blob not null,
    sum integer not null
) strict;

-- The texts that the host chose to keep, in parts of 1,048,576 characters.
create table text (
    id integer primary key,         -- content << 20 | part
    codec integer not null,         -- 0: UTF-8; 1: UTF-8 compressed with zlib
    data blob not null
) strict;

-- Boilerplate: texts that comparisons ignore.
create table boilerplate (
    id integer primary key autoincrement,
    name text not null unique,      -- the host's name for it
    hash blob not null unique,      -- xxh3-128 of the text in UTF-8
    text text not null,
    grams blob not null,            -- the high 48 bits of the hash of each different k-gram, ascending, 6 bytes each
    shingles blob not null,         -- the different shingles, ascending, 8 bytes each
    sum integer not null
) strict;

-- The files that scans of folders have seen.
create table file (
    key text primary key not null,  -- the absolute path, also the key of the file's document; a byte that is not UTF-8
                                    -- is written as \xNN
    size integer not null,          -- in bytes
    mtime_ns integer not null,      -- time of the last change: nanoseconds since 1970; -1 if too recent to be trusted
    device integer not null,        -- 64 bits read signed
    inode integer not null,         -- 64 bits read signed
    kind text not null,             -- 'text': the file has a document; 'binary': it has none
    digest blob,                    -- xxh3-128 of the file's bytes, or NULL if it was not needed yet
    sum integer not null
) strict;
