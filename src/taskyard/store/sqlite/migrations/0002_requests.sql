-- What a commit answered to requests that another process handed on, so that it can be asked for again. Ten minutes' worth.
CREATE TABLE request (name TEXT PRIMARY KEY, at INTEGER NOT NULL, answer BLOB NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX request_age ON request (at);
