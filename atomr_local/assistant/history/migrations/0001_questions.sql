-- One row a question. What is listed and searched stands in columns; everything else in the trace.
CREATE TABLE questions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- a number that was deleted is never given again
    asked_at TEXT NOT NULL,               -- ISO 8601, UTC, to the second
    origin TEXT NOT NULL CHECK (origin IN ('asked', 'imported')),
    question TEXT NOT NULL,
    answer TEXT NOT NULL,
    status TEXT NOT NULL,
    strategy TEXT NOT NULL,
    confidence REAL,
    seconds REAL NOT NULL,
    encoding TEXT NOT NULL CHECK (encoding IN ('json', 'zlib')),
    digest TEXT NOT NULL,                 -- SHA-256 of the trace's JSON
    trace BLOB NOT NULL                   -- atomr.trace/1 as JSON in UTF-8, deflated where encoding is zlib
);

CREATE INDEX questions_by_digest ON questions (digest);
