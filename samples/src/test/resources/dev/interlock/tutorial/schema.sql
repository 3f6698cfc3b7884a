-- Two clients that create the same table at once would fail each other.
BEGIN;
SELECT pg_advisory_xact_lock(8315);

CREATE SEQUENCE IF NOT EXISTS interlock_token;

-- Names are bytes, since text cannot hold U+0000.
CREATE TABLE IF NOT EXISTS interlock_lock (
  name bytea PRIMARY KEY,
  claim text NOT NULL,
  holder text NOT NULL,
  token bigint NOT NULL,
  expires timestamptz NOT NULL);

CREATE INDEX IF NOT EXISTS interlock_lock_expires ON interlock_lock (expires);

-- The advisory lock makes the order of tokens that of grants: without it, a slow caller could draw
-- a token, wait, and be granted the lock after a holder with a higher one.
CREATE OR REPLACE FUNCTION interlock_acquire(
    lock_name bytea, new_claim text, new_holder text, ttl interval,
    OUT granted bigint) AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(encode(lock_name, 'hex'), 0));
  -- What nobody has released.
  DELETE FROM interlock_lock WHERE name IN (
    SELECT name FROM interlock_lock WHERE expires <= clock_timestamp()
    LIMIT 1000 FOR UPDATE SKIP LOCKED);
  INSERT INTO interlock_lock AS held
    VALUES (lock_name, new_claim, new_holder, nextval('interlock_token'),
            clock_timestamp() + ttl)
    ON CONFLICT (name) DO UPDATE
    SET claim = excluded.claim, holder = excluded.holder, token = excluded.token,
        expires = excluded.expires
    WHERE held.expires <= clock_timestamp()
    RETURNING token INTO granted;
END $$ LANGUAGE plpgsql;

COMMIT;
