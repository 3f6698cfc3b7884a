-- Two clients that create the same table at once would fail each other.
BEGIN;
SELECT pg_advisory_xact_lock(8315);

CREATE SEQUENCE IF NOT EXISTS interlock_token;

-- A row with a token is a hold. A row without one says that claims of its weight wait.
-- Names are bytes, since text cannot hold U+0000. Weights are 64 bits wide, since the sum of a reader
-- and a writer needs more than 32.
CREATE TABLE IF NOT EXISTS interlock_lock (
  name bytea NOT NULL,
  claim text NOT NULL,
  holder text NOT NULL,
  token bigint,
  kind text NOT NULL,
  weight bigint NOT NULL,
  capacity bigint NOT NULL,
  since timestamptz NOT NULL,
  expires timestamptz NOT NULL,
  PRIMARY KEY (name, claim));

CREATE INDEX IF NOT EXISTS interlock_lock_expires ON interlock_lock (expires);

-- Returns the token of the grant; or the use of the name that does not agree with the claim; or nulls.
CREATE OR REPLACE FUNCTION interlock_acquire(
    lock_name bytea, new_claim text, new_holder text, ttl interval,
    new_kind text, new_weight bigint, new_capacity bigint, wait interval,
    OUT granted bigint, OUT used_as text, OUT used_capacity bigint) AS $$
DECLARE
  held bigint; -- the sum of the weights of all holders
  own_since timestamptz; -- since when claims of this weight have waited
BEGIN
  -- One grant of a name at a time: without this lock, a slow caller could draw a token, wait, and be
  -- granted the lock after a holder with a higher token.
  PERFORM pg_advisory_xact_lock(hashtextextended(encode(lock_name, 'hex'), 0));
  -- This waits for renewals in progress, and keeps what they renew. All other rows count below.
  DELETE FROM interlock_lock WHERE name = lock_name AND expires <= clock_timestamp();

  SELECT kind, capacity INTO used_as, used_capacity FROM interlock_lock
    WHERE name = lock_name AND (kind <> new_kind OR capacity <> new_capacity) LIMIT 1;
  IF FOUND THEN RETURN; END IF;

  SELECT coalesce(sum(weight) FILTER (WHERE token IS NOT NULL), 0),
      coalesce(min(since) FILTER (WHERE token IS NULL AND weight = new_weight), 'infinity')
    INTO held, own_since FROM interlock_lock WHERE name = lock_name;

  IF held + new_weight <= new_capacity AND NOT EXISTS (
      SELECT FROM interlock_lock WHERE name = lock_name AND token IS NULL
        AND since < own_since AND held + new_weight + weight > new_capacity) THEN
    granted := nextval('interlock_token');
    INSERT INTO interlock_lock VALUES (lock_name, new_claim, new_holder, granted, new_kind,
      new_weight, new_capacity, clock_timestamp(), clock_timestamp() + ttl);
    UPDATE interlock_lock SET expires = CASE
        WHEN held + 2 * new_weight > new_capacity THEN clock_timestamp()
        ELSE least(expires, clock_timestamp() + interval '500 ms') END
      WHERE name = lock_name AND token IS NULL AND weight = new_weight;
  ELSIF wait > interval '0' AND new_kind <> 'EXCLUSIVE' THEN
    INSERT INTO interlock_lock AS waiting VALUES (lock_name, 'weight ' || new_weight, '', NULL,
        new_kind, new_weight, new_capacity, clock_timestamp(), clock_timestamp() + wait)
      ON CONFLICT (name, claim) DO UPDATE
      SET expires = greatest(waiting.expires, excluded.expires);
  END IF;

  -- The locks that nobody has released. This comes last and skips locked rows, so that nobody waits
  -- for a name while holding rows of another.
  DELETE FROM interlock_lock WHERE (name, claim) IN (
    SELECT name, claim FROM interlock_lock WHERE expires <= clock_timestamp()
    LIMIT 1000 FOR UPDATE SKIP LOCKED);
END $$ LANGUAGE plpgsql;

COMMIT;
