-- One row for each time a hub took the lead; they are never deleted. `seq` is the newest commit before it. By these rows
-- a log is told from an older copy of itself that has grown as long.
CREATE TABLE takeover (
    epoch bigint PRIMARY KEY,
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    crc bigint NOT NULL
);
