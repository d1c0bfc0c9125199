-- Contents and documents, fingerprints forward and inverted.
-- Numbers inside a blob are little-endian and unsigned, on every machine. A column `sum` is the
-- xxh3-64 of the other columns of its row, read signed: `check()` finds a changed byte by it.

-- One row: how texts become fingerprints and sketches.
create table recipe (
    id integer primary key check (id = 1),
    json text not null,             -- the parameters, in canonical form
    sum integer not null
) strict;

-- One row for each distinct text, however many documents have it.
create table content (
    id integer primary key autoincrement, -- ascending; never used again after a removal
    hash blob not null,             -- xxh3-128 of the text in UTF-8
    reading text not null,          -- the front end that made symbols of it, and its version
    symbols_hash blob not null,     -- xxh3-128 of the symbols: equal where only formatting differs
    characters integer not null,    -- length of the text, in code points
    symbols integer not null,       -- how many letters and digits count
    shingles integer not null,      -- how many different shingles; an estimate above 2^20
    fingerprints integer not null,  -- how many; a hash that occurs twice counts twice
    hashes integer not null,        -- how many different ones
    simhash integer not null,       -- 64 bits read signed: compare with = only
    slots blob not null,            -- the min-hash sketch, 4 bytes a slot
    parts integer not null,         -- how many rows `text` has for it; 0 where the text is not kept
    sum integer not null,
    unique (hash, reading)
) strict;
create index content_symbols on content (symbols_hash);
-- The simhash as it is, and turned left by 22 and by 43 bits: whatever has the same leading 22, middle 21 or last
-- 21 bits stands together in one of them, and the rows of `content` need not be read.
create index content_simhash on content (simhash);
create index content_simhash_22 on content ((simhash << 22) | ((simhash >> 42) & 4194303));
create index content_simhash_43 on content ((simhash << 43) | ((simhash >> 21) & 8796093022207));

-- What the host stored, under its own key.
create table document (
    id integer primary key autoincrement, -- stays with the key as long as the document is there
    key text not null unique,
    content integer not null references content (id),
    meta text,                      -- JSON of the host's choice, or null
    added_at integer not null,      -- when this text came under this key: microseconds since 1970, UTC
    sum integer not null
) strict;
create index document_content on document (content);

-- The forward index: the fingerprints of a content in the order of their positions, in parts of 65,536.
create table fingerprint (
    id integer primary key,         -- content << 20 | part
    hashes blob not null,           -- the high 48 bits of each hash, 6 bytes
    gaps blob not null,             -- symbols from the position before (at first from 0): 1 byte each while the
                                    -- recipe's window is below 256, else 2
    sum integer not null
) strict;

-- The inverted index is a few segments, each a sorted list of keys cut into blocks.
-- A key is: high bits of a hash, then the content's number counted from the segment's base.
create table segment (
    id integer primary key autoincrement, -- ascending by age
    first integer not null,         -- the least content; local numbers count from it
    last integer not null,          -- the greatest content: so many bits has a local number, the low ones of a key
    hash_bits integer not null,     -- high bits of the hash that keys are made of
    block_bits integer not null,    -- how many of these name the block, and are left out of its keys
    postings integer not null,      -- how many keys were put in
    target integer,                 -- the segment that this one is being merged into, or null
    moved integer                   -- in a target that is not complete: how much of the range of hashes has
                                    -- come over, in blocks of the largest size among it and its sources
) strict;

create table posting (
    id integer primary key,         -- segment << 32 | block
    keys blob not null              -- ascending keys, each in as few bytes as the segment's numbers allow
) strict;

-- Contents that are gone, but not yet from all segments.
create table dead (
    content integer primary key,
    segment integer not null        -- the newest segment then: only it and older ones can have its postings
) strict;

-- Super-shingles: contents that share some are near-duplicates.
create table feature (
    value integer not null,         -- 64 bits read signed: compare with = only
    content integer not null,       -- no foreign key: to hold it, removing a content would scan this table
    primary key (value, content)
) strict, without rowid;

-- Broder's sketches of the shingle set, for recipes that ask for them; 8 bytes a value, ascending.
create table sample (
    content integer primary key references content (id),
    min_s blob not null,
    mod_m blob not null,
    level blob not null,
    sum integer not null
) strict;

-- The texts, where the host lets us keep them, in parts of 1,048,576 characters.
create table text (
    id integer primary key,         -- content << 20 | part
    codec integer not null,         -- 0: UTF-8 as it is, 1: UTF-8 deflated (zlib)
    data blob not null
) strict;

-- Texts that everybody has: what they share with a document does not count.
create table boilerplate (
    id integer primary key autoincrement,
    name text not null unique,      -- what the host calls it
    hash blob not null unique,      -- xxh3-128 of the text in UTF-8
    text text not null,             -- the text
    grams blob not null,            -- of each of its different k-grams the high 48 bits of the hash, ascending, 6 bytes
    shingles blob not null,         -- its different shingles, ascending, 8 bytes
    sum integer not null
) strict;

-- What scans of folders know of each file.
create table file (
    id integer primary key,
    key text not null unique,       -- the absolute path, bytes that are no UTF-8 as \xNN: the key of the document, too
    size integer not null,          -- in bytes
    mtime_ns integer not null,      -- when it was changed: nanoseconds since 1970; -1 if that was too recent to tell
    device integer not null,        -- read signed, as the next one
    inode integer not null,
    kind text not null,             -- 'text': there is a document; 'binary': there is none
    digest blob,                    -- xxh3-128 of its bytes, or null as long as nobody had to know
    sum integer not null
) strict;
