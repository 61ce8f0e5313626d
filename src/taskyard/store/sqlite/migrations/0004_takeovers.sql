-- One row for each time a hub took the lead; they are never deleted. `seq` is the newest commit before it. By these rows
-- a log is told from an older copy of itself that has grown as long.
CREATE TABLE takeover (epoch INTEGER PRIMARY KEY, id TEXT NOT NULL, seq INTEGER NOT NULL, crc INTEGER NOT NULL);
