-- fleet.sql: the tables of a fleet, PostgreSQL 13 and later.
--
--     psql -v ON_ERROR_STOP=1 -f fleet.sql "service=fleet"
--
-- Everything is made in the first schema of the search path, once: running it
-- again changes no data, and where the tables are in another schema of the path,
-- it is done there. Whoever runs it owns the tables, may read and write all
-- stores, and says who else may:
--
--     INSERT INTO kv_right VALUES ('devices', 'all', false),     -- may read
--                                 ('operators', '*', true);      -- may write
--
-- The commit protocol of a program that writes by itself: BEGIN, lock the store's
-- row by kv_lock, call kv_write with the next revision, call kv_finish, COMMIT.
BEGIN;
-- Functions find the tables here alone, whatever their caller's path is, and the
-- server's own functions before any of this schema: pg_catalog, which is not
-- named, comes first. In a schema in which everybody may make functions, some
-- could be made that are run in the place of others, by whoever commits.
DO $$ DECLARE
  place text := coalesce((SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid = to_regclass('kv_format')), current_schema());
BEGIN
  IF has_schema_privilege('public', place, 'CREATE') THEN
    RAISE EXCEPTION 'everybody may make functions in the schema %, which would be run by those who write: first REVOKE CREATE ON SCHEMA % FROM PUBLIC',
      place, quote_ident(place);
  END IF;
  PERFORM set_config('search_path', quote_ident(place) || ', pg_temp', true);
END $$;
SET LOCAL client_min_messages TO warning;

-- The version of these tables: a program refuses those of a newer one.
CREATE TABLE IF NOT EXISTS kv_format (version integer PRIMARY KEY);
INSERT INTO kv_format SELECT 1 WHERE NOT EXISTS (SELECT FROM kv_format);
DO $$ BEGIN
  IF (SELECT max(version) FROM kv_format) > 1 THEN
    RAISE EXCEPTION 'the tables are of version %: this file knows version 1', (SELECT max(version) FROM kv_format);
  END IF;
END $$;

-- A row is a store and its lock. `head` is its revision: it is taken from the
-- locked row, and so is in the order of commits, which a sequence is not.
CREATE TABLE IF NOT EXISTS kv_store (
  name text PRIMARY KEY,
  head bigint NOT NULL DEFAULT 0,
  token uuid,                                        -- of the commit `head`
  identity uuid NOT NULL DEFAULT gen_random_uuid(),  -- no other store has it
  horizon bigint NOT NULL DEFAULT 0  -- removals up to this one are forgotten
);

-- A row for each top-level key: the value is a binary property list, NULL for a
-- removed one.
CREATE TABLE IF NOT EXISTS kv_value (
  store text NOT NULL,
  key bytea NOT NULL,
  value bytea,
  revision bigint NOT NULL,
  PRIMARY KEY (store, key)
);
CREATE INDEX IF NOT EXISTS kv_value_revision ON kv_value (store, revision);

-- The history, written with each commit.
CREATE TABLE IF NOT EXISTS kv_change (
  store text NOT NULL,
  revision bigint NOT NULL,
  key bytea NOT NULL,
  value bytea,
  token uuid NOT NULL,
  who name NOT NULL DEFAULT current_user,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  note text,
  PRIMARY KEY (store, revision, key)
);

-- What machines run: a row for each program on a machine that reads the store.
-- `revision` is the one that it goes by; `refused` is a later one that does not
-- fit its schema, `path` and `message` say why.
CREATE TABLE IF NOT EXISTS kv_machine (
  store text NOT NULL,
  who name NOT NULL DEFAULT current_user,
  machine text NOT NULL,
  program text NOT NULL,
  revision bigint NOT NULL,
  refused bigint,
  path text,
  message text,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (store, who, machine, program)
);

-- The roles that may read a store, and those that may write it; '*' is every
-- store. A member of a role has its rights.
CREATE TABLE IF NOT EXISTS kv_right (
  role name NOT NULL,
  store text NOT NULL,
  may_write boolean NOT NULL,
  PRIMARY KEY (role, store)
);

-- ---- Rights

-- The present user's roles: its own, and those that it is a member of. Policies
-- ask for them at each statement: it looks at the user's own memberships alone,
-- however many roles there are, and its plan is kept. All is named in full:
-- the caller's path may lead elsewhere, and setting another takes time.
CREATE OR REPLACE FUNCTION kv_roles() RETURNS name[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN ARRAY(
    WITH RECURSIVE mine (role) AS (
      SELECT pg_catalog.quote_ident(current_user)::pg_catalog.regrole::pg_catalog.oid
      UNION
      -- Of each role by the index: without OFFSET all members of all roles may be read.
      SELECT m.roleid FROM mine, LATERAL (
        SELECT a.roleid FROM pg_catalog.pg_auth_members a WHERE a.member OPERATOR(pg_catalog.=) mine.role OFFSET 0) m
    ) SELECT pg_catalog.pg_get_userbyid(role) FROM mine);
END
$$;

-- Whether the present user may read the store, or write it.
CREATE OR REPLACE FUNCTION kv_may(store text, writing boolean) RETURNS boolean
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT EXISTS (SELECT FROM kv_right r WHERE r.role = ANY ((SELECT kv_roles())::name[])
      AND r.store IN (kv_may.store, '*') AND (r.may_write OR NOT writing))
    OR pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = 'kv_value'::regclass), 'MEMBER')
$$;

ALTER TABLE kv_store ENABLE ROW LEVEL SECURITY;
ALTER TABLE kv_value ENABLE ROW LEVEL SECURITY;
ALTER TABLE kv_change ENABLE ROW LEVEL SECURITY;
ALTER TABLE kv_machine ENABLE ROW LEVEL SECURITY;
ALTER TABLE kv_right ENABLE ROW LEVEL SECURITY;
-- Nobody says by whom and when something was done: `who` and `at` have their
-- defaults. Nor does a commit need a store's identity or horizon.
-- By columns alone: who may write a whole table may lock it for everybody.
REVOKE INSERT, UPDATE ON kv_store, kv_value, kv_change FROM PUBLIC;
GRANT SELECT ON kv_format, kv_right, kv_store, kv_value, kv_change, kv_machine TO PUBLIC;
GRANT INSERT (name), UPDATE (head, token) ON kv_store TO PUBLIC;
GRANT INSERT (store, key, value, revision), UPDATE (value, revision) ON kv_value TO PUBLIC;
GRANT INSERT (store, revision, key, value, token, note) ON kv_change TO PUBLIC;
GRANT INSERT (store, machine, program, revision, refused, path, message),
  UPDATE (revision, refused, path, message) ON kv_machine TO PUBLIC;
-- Of an earlier file.
REVOKE UPDATE (at) ON kv_machine FROM PUBLIC;

-- Everybody sees the rights that are their own.
DROP POLICY IF EXISTS kv_read ON kv_right;
CREATE POLICY kv_read ON kv_right FOR SELECT
  USING (role = ANY ((SELECT kv_roles())::name[]));

-- The list of stores is made once for a query, not for each row; of the rights
-- the policy above leaves the user's own.
DROP POLICY IF EXISTS kv_read ON kv_store;
DROP POLICY IF EXISTS kv_add ON kv_store;
DROP POLICY IF EXISTS kv_change ON kv_store;
CREATE POLICY kv_read ON kv_store FOR SELECT
  USING (ARRAY[name, '*'] && ARRAY(SELECT r.store FROM kv_right r));
CREATE POLICY kv_add ON kv_store FOR INSERT
  WITH CHECK (ARRAY[name, '*'] && ARRAY(SELECT r.store FROM kv_right r WHERE r.may_write));
CREATE POLICY kv_change ON kv_store FOR UPDATE
  USING (ARRAY[name, '*'] && ARRAY(SELECT r.store FROM kv_right r WHERE r.may_write));
DROP POLICY IF EXISTS kv_read ON kv_value;
DROP POLICY IF EXISTS kv_add ON kv_value;
DROP POLICY IF EXISTS kv_change ON kv_value;
CREATE POLICY kv_read ON kv_value FOR SELECT
  USING (ARRAY[store, '*'] && ARRAY(SELECT r.store FROM kv_right r));
CREATE POLICY kv_add ON kv_value FOR INSERT
  WITH CHECK (ARRAY[store, '*'] && ARRAY(SELECT r.store FROM kv_right r WHERE r.may_write));
CREATE POLICY kv_change ON kv_value FOR UPDATE
  USING (ARRAY[store, '*'] && ARRAY(SELECT r.store FROM kv_right r WHERE r.may_write));
DROP POLICY IF EXISTS kv_read ON kv_change;
DROP POLICY IF EXISTS kv_add ON kv_change;
CREATE POLICY kv_read ON kv_change FOR SELECT
  USING (ARRAY[store, '*'] && ARRAY(SELECT r.store FROM kv_right r));
-- Nobody writes history in another's name.
CREATE POLICY kv_add ON kv_change FOR INSERT
  WITH CHECK (who = current_user AND ARRAY[store, '*'] && ARRAY(SELECT r.store FROM kv_right r WHERE r.may_write));

-- A machine writes rows of its own about stores that it may read; who may write
-- a store sees those of all.
DROP POLICY IF EXISTS kv_read ON kv_machine;
DROP POLICY IF EXISTS kv_add ON kv_machine;
DROP POLICY IF EXISTS kv_change ON kv_machine;
CREATE POLICY kv_read ON kv_machine FOR SELECT
  USING (who = current_user OR ARRAY[store, '*'] && ARRAY(SELECT r.store FROM kv_right r WHERE r.may_write));
CREATE POLICY kv_add ON kv_machine FOR INSERT
  WITH CHECK (who = current_user AND ARRAY[store, '*'] && ARRAY(SELECT r.store FROM kv_right r));
CREATE POLICY kv_change ON kv_machine FOR UPDATE
  USING (who = current_user AND ARRAY[store, '*'] && ARRAY(SELECT r.store FROM kv_right r));

-- The policies of an earlier file asked it.
DROP FUNCTION IF EXISTS kv_stores(boolean);

-- ---- Commits

-- Locks the store's row for a commit. The first row of the answer is the store's
-- state; the others are the keys that are newer than the revision `in_seen`, and
-- whether the history has that one with its token, or older ones, is in the
-- first. -1 for a program that has seen none. No row: the user may not write.
--
-- It holds whatever the role's settings are: how long the lock is waited for,
-- when the row of a machine that died is freed, also amid a message (both in
-- milliseconds), and that COMMIT answers when the commit is on the disk.
CREATE OR REPLACE FUNCTION kv_lock(
  in_store text, in_seen bigint, in_token uuid, in_patience bigint, in_idle bigint
) RETURNS TABLE (
  out_head bigint, out_token uuid, out_identity uuid, out_horizon bigint, out_there boolean, out_kept boolean,
  out_key bytea, out_value bytea
) LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM set_config('lock_timeout', in_patience::text, true),
    set_config('idle_in_transaction_session_timeout', in_idle::text, true),
    set_config('tcp_keepalives_idle', '10', true), set_config('tcp_keepalives_interval', '5', true),
    set_config('tcp_keepalives_count', '3', true),
    set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') = 'remote_apply'
      THEN 'remote_apply' ELSE 'on' END, true);
  -- Also where a transaction made the row, and was rolled back.
  IF in_seen <= 0 THEN
    INSERT INTO kv_store (name) VALUES (in_store) ON CONFLICT DO NOTHING;
  END IF;
  SELECT s.head, s.token, s.identity, s.horizon INTO out_head, out_token, out_identity, out_horizon
    FROM kv_store s WHERE s.name = in_store FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF out_head = in_seen THEN
    -- Nearly always.
    out_there := out_token IS NOT DISTINCT FROM in_token;
    out_kept := true;
  ELSIF in_seen >= 0 THEN
    out_there := EXISTS (SELECT FROM kv_change c WHERE c.store = in_store AND c.revision = in_seen AND c.token = in_token);
    out_kept := EXISTS (SELECT FROM kv_change c WHERE c.store = in_store AND c.revision <= in_seen);
  END IF;
  RETURN NEXT;
  IF in_seen >= 0 AND out_head > in_seen THEN
    RETURN QUERY SELECT NULL::bigint, NULL::uuid, NULL::uuid, NULL::bigint, NULL::boolean, NULL::boolean, v.key, v.value
      FROM kv_value v WHERE v.store = in_store AND v.revision > in_seen ORDER BY v.key;
  END IF;
END
$$;

-- Writes some keys of a commit, once the store's row is locked; a NULL among the
-- values removes its key. May be called several times for one revision.
CREATE OR REPLACE FUNCTION kv_write(
  in_store text, in_revision bigint, in_token uuid, in_keys bytea[], in_values bytea[], in_note text
) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO kv_value (store, key, value, revision)
    SELECT in_store, r.k, r.v, in_revision FROM unnest(in_keys, in_values) AS r (k, v)
    ON CONFLICT (store, key) DO UPDATE SET value = excluded.value, revision = excluded.revision;
  INSERT INTO kv_change (store, revision, key, value, token, note)
    SELECT in_store, in_revision, r.k, r.v, in_token, in_note FROM unnest(in_keys, in_values) AS r (k, v);
END
$$;

-- The channel on which a store's revisions are told.
CREATE OR REPLACE FUNCTION kv_channel(store text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$ SELECT 'kv_' || md5(store) $$;

-- Makes the commit the store's newest, and tells those who listen.
CREATE OR REPLACE FUNCTION kv_finish(in_store text, in_revision bigint, in_token uuid) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE kv_store SET head = in_revision, token = in_token WHERE name = in_store AND head = in_revision - 1;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the store % is not at revision %', in_store, in_revision - 1 USING ERRCODE = '40001';
  END IF;
  PERFORM pg_notify(kv_channel(in_store), in_revision::text);
END
$$;

-- Revisions follow one another, whoever writes; the owner may set another one.
CREATE OR REPLACE FUNCTION kv_advance() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF NOT pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER') THEN
    RAISE EXCEPTION 'the revision behind % of the store % is not %', OLD.head, OLD.name, NEW.head
      USING ERRCODE = '42501';
  END IF;
  RETURN NEW;
END
$$;
DROP TRIGGER IF EXISTS kv_advance ON kv_store;
CREATE TRIGGER kv_advance BEFORE UPDATE OF head ON kv_store
  FOR EACH ROW WHEN (NEW.head IS DISTINCT FROM OLD.head + 1) EXECUTE FUNCTION kv_advance();

-- Tells what a program on a machine runs: the revision of the store that it goes
-- by, and where it refuses a later one, that one, the place and the reason (NULL
-- where it refuses none). The row before is replaced.
CREATE OR REPLACE FUNCTION kv_report(
  in_store text, in_machine text, in_program text, in_revision bigint,
  in_refused bigint DEFAULT NULL, in_path text DEFAULT NULL, in_message text DEFAULT NULL
) RETURNS void LANGUAGE sql SET search_path FROM CURRENT AS $$
  INSERT INTO kv_machine (store, machine, program, revision, refused, path, message)
    VALUES (in_store, left(in_machine, 200), left(in_program, 200), in_revision,
            in_refused, left(in_path, 1000), left(in_message, 1000))
    ON CONFLICT (store, who, machine, program) DO UPDATE
    SET revision = excluded.revision, refused = excluded.refused, path = excluded.path, message = excluded.message
$$;

-- The time of a report is the server's.
CREATE OR REPLACE FUNCTION kv_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.at := pg_catalog.clock_timestamp();
  RETURN NEW;
END
$$;
DROP TRIGGER IF EXISTS kv_told ON kv_machine;
CREATE TRIGGER kv_told BEFORE UPDATE OF revision, refused, path, message ON kv_machine
  FOR EACH ROW EXECUTE FUNCTION kv_told();

-- Forgets the history that is older than `age`, but for the newest commit of
-- each store, the keys that were removed before, and machines that have told
-- nothing since. For the owner of the tables. A machine that was away for longer loads everything anew.
CREATE OR REPLACE FUNCTION kv_prune(age interval) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  one kv_store;
  last bigint;
BEGIN
  FOR one IN SELECT * FROM kv_store ORDER BY name FOR UPDATE LOOP
    SELECT max(revision) INTO last FROM kv_change
      WHERE store = one.name AND at < clock_timestamp() - age AND revision < one.head;
    CONTINUE WHEN last IS NULL;
    DELETE FROM kv_change WHERE store = one.name AND revision <= last;
    DELETE FROM kv_value WHERE store = one.name AND value IS NULL AND revision <= last;
    IF FOUND THEN
      UPDATE kv_store SET horizon = last WHERE name = one.name;
    END IF;
  END LOOP;
  DELETE FROM kv_machine WHERE at < clock_timestamp() - age;
END
$$;

-- ---- Values as JSON, for people

-- A big-endian number of so many bytes.
CREATE OR REPLACE FUNCTION kv_number(bytes bytea, start bigint, size integer) RETURNS numeric
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  result numeric := 0;
BEGIN
  FOR i IN 0 .. size - 1 LOOP
    result := result * 256 + get_byte(bytes, (start + i)::integer);
  END LOOP;
  RETURN result;
END
$$;

-- An IEEE 754 double from its eight bytes; NULL for infinities and NaN.
CREATE OR REPLACE FUNCTION kv_double(bytes bytea, start bigint) RETURNS double precision
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  bits numeric := kv_number(bytes, start, 8);
  sign double precision := CASE WHEN get_byte(bytes, start::integer) >= 128 THEN -1 ELSE 1 END;
  exponent integer := (get_byte(bytes, start::integer) % 128) * 16 + get_byte(bytes, start::integer + 1) / 16;
  fraction double precision := mod(bits, 4503599627370496);
BEGIN
  IF exponent = 2047 THEN
    RETURN NULL;
  ELSIF exponent = 0 THEN
    RETURN CASE WHEN fraction = 0 THEN sign * 0 ELSE sign * fraction * power(2::double precision, -1074) END;
  END IF;
  RETURN sign * (fraction + 4503599627370496) * power(2::double precision, exponent - 1075);
END
$$;

-- Of an earlier file.
DROP FUNCTION IF EXISTS kv_object(bytea, bigint, integer, integer, bigint, integer);

-- The object of this number in a binary property list: its table of offsets
-- begins at `places`, whose entries have `width` bytes, references `step`. `room`
-- is the number of objects that may still be read: those of a few bytes may
-- refer to one another so often that it would never end.
CREATE OR REPLACE FUNCTION kv_object(
  bytes bytea, places bigint, width integer, step integer, number bigint, depth integer,
  INOUT room integer, OUT result jsonb
) LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  start bigint := kv_number(bytes, places + number * width, width);
  marker integer := get_byte(bytes, start::integer);
  kind integer := marker / 16;
  count bigint := marker % 16;
  name text;
  item jsonb;
  reference bigint;
BEGIN
  room := room - 1;
  IF depth > 512 OR room < 0 THEN
    RAISE EXCEPTION 'deeper than 512 levels, or too many objects' USING ERRCODE = '54000';
  END IF;
  IF kind = 0 THEN
    result := CASE marker WHEN 8 THEN 'false'::jsonb WHEN 9 THEN 'true'::jsonb ELSE 'null'::jsonb END;
  ELSIF kind = 1 THEN
    count := 1 << count::integer;
    IF count = 8 AND get_byte(bytes, start::integer + 1) >= 128 THEN
      result := to_jsonb(kv_number(bytes, start + 1, 8) - 18446744073709551616);
    ELSE
      result := to_jsonb(kv_number(bytes, start + 1, count::integer));
    END IF;
  ELSIF kind = 2 THEN
    result := to_jsonb(kv_double(bytes, start + 1));
  ELSIF kind = 3 THEN
    result := to_jsonb(to_char(
      to_timestamp(978307200 + kv_double(bytes, start + 1)) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));
  ELSIF kind = 8 THEN
    result := jsonb_build_object('CF$UID', kv_number(bytes, start + 1, count::integer + 1));
  END IF;
  IF kind IN (0, 1, 2, 3, 8) THEN
    RETURN;
  END IF;
  start := start + 1;
  IF count = 15 THEN
    marker := get_byte(bytes, start::integer) % 16;
    count := kv_number(bytes, start + 1, 1 << marker);
    start := start + 1 + (1 << marker);
  END IF;
  IF kind = 4 THEN
    result := to_jsonb(translate(encode(substr(bytes, start::integer + 1, count::integer), 'base64'), E'\n', ''));
  ELSIF kind = 5 THEN
    -- JSON in the server holds no NUL.
    result := to_jsonb(convert_from(
      decode(replace(encode(substr(bytes, start::integer + 1, count::integer), 'escape'), '\000', '\357\277\275'),
             'escape'), 'UTF8'));
  ELSIF kind = 6 THEN
    name := '';
    FOR i IN 0 .. count - 1 LOOP
      marker := kv_number(bytes, start + 2 * i, 2);
      IF marker BETWEEN 55296 AND 56319 AND i + 1 < count THEN
        marker := 65536 + (marker - 55296) * 1024 + kv_number(bytes, start + 2 * i + 2, 2)::integer - 56320;
      ELSIF marker BETWEEN 56320 AND 57343 THEN
        CONTINUE;
      END IF;
      name := name || chr(CASE WHEN marker = 0 THEN 65533 ELSE marker END);
    END LOOP;
    result := to_jsonb(name);
  ELSIF kind = 10 THEN
    result := '[]';
    FOR i IN 0 .. count - 1 LOOP
      reference := kv_number(bytes, start + i * step, step);
      SELECT o.room, o.result INTO room, item FROM kv_object(bytes, places, width, step, reference, depth + 1, room) o;
      result := result || jsonb_build_array(item);
    END LOOP;
  ELSIF kind = 13 THEN
    result := '{}';
    FOR i IN 0 .. count - 1 LOOP
      reference := kv_number(bytes, start + i * step, step);
      SELECT o.room, o.result #>> '{}' INTO room, name
        FROM kv_object(bytes, places, width, step, reference, depth + 1, room) o;
      reference := kv_number(bytes, start + (count + i) * step, step);
      SELECT o.room, o.result INTO room, item FROM kv_object(bytes, places, width, step, reference, depth + 1, room) o;
      result := result || jsonb_build_object(name, item);
    END LOOP;
  ELSE
    RAISE EXCEPTION 'no property list' USING ERRCODE = '22023';
  END IF;
END
$$;

-- A stored value as JSON: data is Base64, a date is text, what JSON cannot hold
-- is null; NULL for a removed value, for one of more than 100,000 objects, and for
-- bytes that are no property list.
CREATE OR REPLACE FUNCTION kv_json(bytes bytea) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path FROM CURRENT AS $$
DECLARE
  trailer integer := length(bytes) - 32;
BEGIN
  RETURN (SELECT o.result FROM kv_object(
    bytes, kv_number(bytes, trailer + 24, 8)::bigint, get_byte(bytes, trailer + 6), get_byte(bytes, trailer + 7),
    kv_number(bytes, trailer + 16, 8)::bigint, 1, 100000) o);
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END
$$;

-- A key as text.
CREATE OR REPLACE FUNCTION kv_text(key bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN convert_from(key, 'UTF8');
EXCEPTION WHEN OTHERS THEN
  RETURN encode(key, 'escape');
END
$$;

-- What the stores hold, for people. A view goes by its owner's rights: it asks
-- for the reader's own.
-- A barrier: what a reader asks of the rows is asked of those alone that it may read.
CREATE OR REPLACE VIEW kv WITH (security_barrier) AS
  SELECT v.store, kv_text(v.key) AS key, kv_json(v.value) AS value, v.revision, c.who, c.at, c.note
  FROM kv_value v LEFT JOIN kv_change c ON c.store = v.store AND c.revision = v.revision AND c.key = v.key
  WHERE v.value IS NOT NULL AND kv_may(v.store, false);
GRANT SELECT ON kv TO PUBLIC;
COMMIT;
