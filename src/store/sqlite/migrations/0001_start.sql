-- Ids are UUIDv7 in text, so that their order is the order of creation. Times are RFC 3339, UTC.

CREATE TABLE inventories (
    id      TEXT PRIMARY KEY,
    created TEXT NOT NULL,
    files   TEXT NOT NULL, -- JSON array of {name, sha256, bytes}
    job     TEXT NOT NULL,
    summary TEXT           -- JSON, when it was read
) STRICT;

-- Lists of an inventory: problems, findings, VMs, datastores; body is JSON.
CREATE TABLE items (
    inventory TEXT    NOT NULL REFERENCES inventories (id) ON DELETE CASCADE,
    kind      TEXT    NOT NULL,
    position  INTEGER NOT NULL,
    body      TEXT    NOT NULL,
    PRIMARY KEY (inventory, kind, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE plans (
    id        TEXT PRIMARY KEY,
    created   TEXT NOT NULL,
    inventory TEXT REFERENCES inventories (id) ON DELETE CASCADE,
    averages  TEXT,          -- JSON, when there is no inventory
    options   TEXT NOT NULL, -- JSON
    job       TEXT NOT NULL,
    summary   TEXT,          -- JSON, when it is done
    artefacts TEXT NOT NULL DEFAULT '[]' -- JSON array of {format, sha256, bytes}
) STRICT;
CREATE INDEX plans_by_inventory ON plans (inventory);

CREATE TABLE jobs (
    id       TEXT PRIMARY KEY,
    kind     TEXT    NOT NULL,
    subject  TEXT    NOT NULL,
    state    TEXT    NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    created  TEXT    NOT NULL,
    started  TEXT,
    finished TEXT,
    problem  TEXT -- JSON
) STRICT;
CREATE INDEX jobs_by_state ON jobs (state, id);
CREATE INDEX jobs_by_subject ON jobs (subject);

CREATE TABLE models (
    id      TEXT PRIMARY KEY,
    created TEXT NOT NULL,
    card    TEXT NOT NULL -- JSON
) STRICT;

CREATE TABLE idempotency (
    key         TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    subject     TEXT NOT NULL,
    job         TEXT NOT NULL
) STRICT;
