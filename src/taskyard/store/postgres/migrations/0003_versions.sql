-- Records that nearly every commit changes are written under a new key each time, and the one before is deleted by its
-- own. Changed in place, a row leaves its old versions behind under one key for as long as anybody holds a snapshot
-- that may see them, and whoever looks the key up walks through them all: after five minutes of that a commit took
-- ten times as long.
--
-- Other than a migration should, this takes away what version 1 needs: stop hubs of that version first.
ALTER TABLE kept DROP CONSTRAINT kept_pkey;
ALTER TABLE kept ADD COLUMN seq bigint NOT NULL DEFAULT 0;
ALTER TABLE kept ADD PRIMARY KEY (kind, name, seq);
ALTER TABLE kept SET (
    fillfactor = 100,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
ALTER TABLE numbering DROP CONSTRAINT numbering_pkey;
ALTER TABLE numbering ADD PRIMARY KEY (user_id, number);
ALTER TABLE numbering SET (
    fillfactor = 100,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
