import { generateKeyPairSync } from 'node:crypto';
import type { Client } from 'pg';
import { signCheckpoint } from '../../src/checkpoints/checkpoint.js';
import { keyIdOf } from '../../src/kernel/jws.js';

/** Recomputes the whole chain from the events as they are, as someone can who has full rights on the database. */
export const RECOMPUTE_CHAIN = `
DO $$
DECLARE
  seal record; computed record; previous bytea := decode(repeat('00', 32), 'hex');
BEGIN
  FOR seal IN SELECT * FROM cc.seals ORDER BY last LOOP
    SELECT count(*) AS count, min(e.position) AS first, max(e.position) AS last, sha256(string_agg(cc.event_digest(
        e.position, e.id, e.category, e.stream, e.version, e.type, e.site, (extract(epoch FROM e.time) * 1000)::bigint,
        e.actor, e.reference, e.data,
        CASE WHEN p.position IS NOT NULL THEN cc.personal_digest(p.salt, p.subject, p.data) ELSE x.digest END),
        '' ORDER BY e.position)) AS digest
      INTO computed
      FROM cc.events e LEFT JOIN cc.personal p ON p.position = e.position LEFT JOIN cc.erased_parts x ON x.position = e.position
     WHERE e.position BETWEEN seal.first AND seal.last;
    IF computed.count = 0 THEN
      DELETE FROM cc.seals WHERE last = seal.last;
    ELSE
      previous := sha256(previous || computed.digest);
      UPDATE cc.seals SET first = computed.first, last = computed.last, count = computed.count, digest = computed.digest,
                          head = previous WHERE last = seal.last;
    END IF;
  END LOOP;
END $$`;

/** Position of the first event that a condition selects, or of the last one. */
const one = (where: string, order: 'ASC' | 'DESC' = 'ASC') =>
  `(SELECT position FROM cc.events WHERE ${where} ORDER BY position ${order} LIMIT 1)`;

/** A conversion in a batch of its own, before the erasure of another person. */
const RECEIVED = one(`reference = 'A-5'`);
/** One after the erasure. */
const SECOND = one(`reference = 'A-6'`);
const DUPLICATE = one(`type = 'conversion.deduplicated.v1'`);
const FAILED = one(`type = 'conversion.failed.v1'`);
const KEY = one(`type = 'site.key_issued.v1'`);
const LAST = one('true', 'DESC');
const ERASED = '(SELECT min(position) FROM cc.erased_parts)';
const SPARE = '(SELECT min(position) FROM public.spare_position)';

export const CHANGE_VALUE = `UPDATE cc.events SET data = replace(data::text, '"value":10', '"value":90000')::json WHERE position = ${RECEIVED}`;
/** With the key: one without a checkpoint shows that there were some. */
export const DROP_CHECKPOINTS = 'DELETE FROM cc.checkpoints; DELETE FROM cc.signing_keys';
const FAILED_TO_DELIVERED = `UPDATE cc.events
   SET type = 'conversion.delivered.v1', data = replace(data::text, '"failed"', '"delivered"')::json WHERE position = ${FAILED}`;
/** A second conversion like the first, with another stream, id and conversion id. */
const forge = (position: string) => `
  INSERT INTO cc.events
  SELECT ${position}, gen_random_uuid(), e.category, n.id, 1, e.type, e.site, l.time, e.actor, NULL,
         replace(replace(e.data::text, e.stream::text, n.id::text), e.reference, 'FORGED')::json
    FROM cc.events e, cc.events l, (SELECT gen_random_uuid() AS id) n WHERE e.position = ${RECEIVED} AND l.position = ${LAST}`;
const seal = (position: string, previous: string) => `
  INSERT INTO cc.seals
  SELECT e.position, e.position, 1, d.digest, sha256(${previous} || d.digest), e.time FROM cc.events e, LATERAL (
    SELECT sha256(cc.event_digest(e.position, e.id, e.category, e.stream, e.version, e.type, e.site,
             (extract(epoch FROM e.time) * 1000)::bigint, e.actor, e.reference, e.data, NULL)) AS digest) d
   WHERE e.position = ${position}`;
/** Changes a column of the event. */
const setEvent = (column: string, at: string) => `UPDATE cc.events SET ${column} WHERE position = ${at}`;
const HEAD = '(SELECT head FROM cc.seals ORDER BY last DESC LIMIT 1)';

export interface Tampering {
  readonly what: string;
  /** Run by a superuser with triggers disabled. */
  readonly change: string | ((client: Client) => Promise<void>);
  /** The check that must fail, and what it must say. */
  readonly check: string;
  readonly says: RegExp;
  /** Expression for the position that must be named, evaluated before the change. */
  readonly at?: string;
  /** Found only with a checkpoint and a public key that were kept elsewhere. */
  readonly elsewhere?: true;
}

/** Changes of an event, of its personal part or of what is left of an erased one: by which position, and how. */
const CHANGES: readonly (readonly [what: string, at: string, change: string])[] = [
  ['a changed amount', RECEIVED, CHANGE_VALUE],
  ['an outcome turned from failed into delivered', FAILED, FAILED_TO_DELIVERED],
  ['a moved time', RECEIVED, setEvent(`time = time - interval '1 millisecond'`, RECEIVED)],
  [
    'two swapped events',
    RECEIVED,
    `CREATE TABLE public.swapped AS SELECT ${RECEIVED} AS r, ${SECOND} AS s;
      UPDATE cc.events SET position = 999999 WHERE position = ${RECEIVED};
      UPDATE cc.events SET position = (SELECT r FROM public.swapped) WHERE position = (SELECT s FROM public.swapped);
      UPDATE cc.events SET position = (SELECT s FROM public.swapped) WHERE position = 999999`,
  ],
  [
    'a changed order id',
    SECOND,
    `UPDATE cc.events SET reference = 'ORD-X', data = replace(data::text, '"orderId":"', '"orderId":"X')::json
              WHERE position = ${SECOND}`,
  ],
  ['a changed reference', SECOND, setEvent(`reference = 'ORD-X'`, SECOND)],
  ['a removed reference', SECOND, setEvent('reference = NULL', SECOND)],
  ['a changed actor', KEY, setEvent(`actor = 'user:other'`, KEY)],
  [
    'a changed key id',
    RECEIVED,
    setEvent(`data = replace(data::text, data ->> 'keyId', gen_random_uuid()::text)::json`, RECEIVED),
  ],
  [
    'a changed hash of an API key',
    KEY,
    setEvent(`data = replace(data::text, data ->> 'hash', repeat('ab', 32))::json`, KEY),
  ],
  ['a changed site', RECEIVED, setEvent(`site = 'other.example'`, RECEIVED)],
  ['a changed id', RECEIVED, setEvent('id = gen_random_uuid()', RECEIVED)],
  [
    'a changed personal part',
    RECEIVED,
    `UPDATE cc.personal SET subject = decode(repeat('ab', 32), 'hex') WHERE position = ${RECEIVED}`,
  ],
  [
    'a personal part moved to another event',
    RECEIVED,
    `UPDATE cc.personal SET position = ${one(`type LIKE 'site.%'`)} WHERE position = ${RECEIVED}`,
  ],
  ['a personal part deleted without an erasure', RECEIVED, `DELETE FROM cc.personal WHERE position = ${RECEIVED}`],
  [
    'a changed digest of an erased part',
    ERASED,
    `UPDATE cc.erased_parts SET digest = sha256('forged') WHERE position = ${ERASED}`,
  ],
];

export const TAMPERINGS: readonly Tampering[] = [
  ...CHANGES.map(([what, at, change]) => ({ what, at, change, check: 'chain', says: /differs from its seal/ })),
  {
    what: 'deleted checkpoints',
    change: `${CHANGE_VALUE}; ${RECOMPUTE_CHAIN}; DELETE FROM cc.checkpoints;
      UPDATE cc.signing_keys SET created_at = created_at - interval '2 minutes'`,
    check: 'checkpoints',
    says: /a signing key and no checkpoint/,
  },
  {
    what: 'a dropped last event',
    change: `DELETE FROM cc.events WHERE position = ${LAST}`,
    check: 'chain',
    says: /is missing|events were added or removed/,
    at: LAST,
  },
  {
    what: 'a dropped duplicate',
    change: `DELETE FROM cc.events WHERE position = ${DUPLICATE}`,
    check: 'chain',
    says: /is missing|events were added or removed/,
    at: DUPLICATE,
  },
  {
    what: 'a dropped event whose digest is presented as removed by retention',
    change: `
      INSERT INTO cc.removed_events SELECT e.position, cc.event_digest(e.position, e.id, e.category, e.stream, e.version, e.type,
        e.site, (extract(epoch FROM e.time) * 1000)::bigint, e.actor, e.reference, e.data,
        cc.personal_digest(p.salt, p.subject, p.data)) FROM cc.events e JOIN cc.personal p USING (position)
       WHERE e.position = ${DUPLICATE};
      DELETE FROM cc.personal WHERE position = ${DUPLICATE};
      DELETE FROM cc.events WHERE position = ${DUPLICATE}`,
    check: 'chain',
    says: /is missing, and no event records that retention removed it/,
    at: DUPLICATE,
  },
  {
    what: 'a conversion forged at the end, without a seal',
    change: forge(`${LAST} + 1`),
    check: 'chain',
    says: /has no seal: it was not appended by the service/,
    at: `${LAST} + 1`,
  },
  {
    what: 'a conversion forged at a position that no event had',
    change: forge(SPARE),
    check: 'chain',
    says: /has no seal: it was not appended by the service/,
    at: SPARE,
  },
  {
    what: 'an outcome forged at a position before the first one',
    change: `CREATE TABLE cc.events_before PARTITION OF cc.events FOR VALUES FROM (-100) TO (0);
      INSERT INTO cc.events
      SELECT -5, gen_random_uuid(), e.category, e.stream, e.version + 1, 'conversion.delivered.v1', e.site, e.time, e.actor, NULL,
             replace(e.data::text, '"failed"', '"delivered"')::json
        FROM cc.events e WHERE e.position = ${FAILED}`,
    check: 'chain',
    says: /the event at position -5 has no seal: it was not appended by the service/,
  },
  {
    what: 'a conversion forged with a seal that does not follow the chain',
    change: `${forge(`${LAST} + 1`)}; ${seal(LAST, `decode(repeat('ab', 32), 'hex')`)}`,
    check: 'chain',
    says: /does not follow/,
    at: `${LAST} + 1`,
  },
  {
    what: 'a conversion forged with a valid seal and an unknown key',
    change: `${forge(`${LAST} + 1`)};
      UPDATE cc.events SET data = replace(data::text, data ->> 'keyId', gen_random_uuid()::text)::json WHERE position = ${LAST};
      ${seal(LAST, HEAD)}`,
    check: 'origins',
    says: /names a key that shop.example did not have then/,
    at: `${LAST} + 1`,
  },
  {
    what: 'a conversion forged with a valid seal while its site is paused',
    change: `${forge(`${LAST} + 1`)};
      UPDATE cc.events SET category = 'site', stream = gen_random_uuid(), type = 'site.paused.v1', actor = 'cli', reference = NULL,
             data = '{}' WHERE position = ${LAST};
      ${seal(LAST, HEAD)}; ${forge(`${LAST} + 1`)}; ${seal(LAST, HEAD)}`,
    check: 'pauses',
    says: /was stored although shop.example was paused/,
    at: `${LAST} + 2`,
  },
  {
    what: 'a conversion forged with a valid seal and an unknown site',
    change: `${forge(`${LAST} + 1`)};
      UPDATE cc.events SET site = 'forged.example' WHERE position = ${LAST};
      ${seal(LAST, HEAD)}`,
    check: 'origins',
    says: /belongs to forged.example, which did not exist then/,
    at: `${LAST} + 1`,
  },
  {
    what: 'a conversion forged with a valid seal and a field of another type',
    change: `${forge(`${LAST} + 1`)};
      UPDATE cc.events SET data = replace(data::text, '"value":10', '"value":"10"')::json WHERE position = ${LAST};
      ${seal(LAST, HEAD)}`,
    check: 'schemas',
    says: /data\.value is not of type number/,
    at: `${LAST} + 1`,
  },
  {
    what: 'a conversion forged with a valid seal, before a checkpoint kept elsewhere',
    change: `${forge(SPARE)};
      INSERT INTO cc.seals SELECT position, position, 1, '', '', time FROM cc.events WHERE position = ${SPARE}; ${RECOMPUTE_CHAIN}; ${DROP_CHECKPOINTS}`,
    check: 'checkpoints',
    says: /has another head at position \d+ than the log/,
    elsewhere: true,
  },
  {
    what: 'a changed amount with a chain recomputed to the end',
    change: `${CHANGE_VALUE}; ${RECOMPUTE_CHAIN}`,
    check: 'checkpoints',
    says: /from this database has another head at position \d+ than the log/,
  },
  {
    what: 'a changed amount with a recomputed chain and deleted checkpoints',
    change: `${CHANGE_VALUE}; ${RECOMPUTE_CHAIN}; ${DROP_CHECKPOINTS}`,
    check: 'checkpoints',
    says: /has another head at position \d+ than the log/,
    elsewhere: true,
  },
  {
    what: 'a changed amount with a recomputed chain and checkpoints signed by a key of its own',
    change: async (client) => {
      await client.query(`${CHANGE_VALUE}; ${RECOMPUTE_CHAIN}`);
      const { privateKey, publicKey } = generateKeyPairSync('ed25519');
      const pem = publicKey.export({ format: 'pem', type: 'spki' }) as string;
      const id = keyIdOf(publicKey);
      await client.query(DROP_CHECKPOINTS);
      await client.query('INSERT INTO cc.signing_keys VALUES ($1, $2, true)', [id, pem]);
      const { rows } = await client.query(
        `SELECT last, encode(head, 'hex') AS head FROM cc.seals ORDER BY last DESC LIMIT 1`,
      );
      const content = {
        cell: 'local',
        position: Number(rows[0].last),
        head: rows[0].head,
        time: new Date().toISOString(),
      };
      const token = signCheckpoint({ id, privateKey, publicKey: pem }, content);
      await client.query('INSERT INTO cc.checkpoints VALUES ($1, now(), $2)', [rows[0].last, token]);
    },
    check: 'checkpoints',
    says: /which is not a trusted key/,
    elsewhere: true,
  },
  {
    what: 'the last event dropped with its seal',
    change: `DELETE FROM cc.events WHERE position = ${LAST}; ${RECOMPUTE_CHAIN}; ${DROP_CHECKPOINTS}`,
    check: 'checkpoints',
    says: /where the log has no seal: events were removed, or an older backup was restored/,
    at: LAST,
    elsewhere: true,
  },
  {
    what: 'a subject of which a part is presented as salt',
    change: `UPDATE cc.personal SET salt = salt || substring(subject FOR 16), subject = substring(subject FROM 17) WHERE position = ${RECEIVED}`,
    check: 'chain',
    says: /has a personal part whose salt has another length/,
    at: RECEIVED,
  },
  {
    what: 'a salt that is presented as part of the subject',
    change: `UPDATE cc.personal SET salt = NULL, subject = salt || subject WHERE position = ${RECEIVED}`,
    check: 'chain',
    says: /has a personal part without a salt/,
    at: RECEIVED,
  },
  {
    what: 'a moved time of a seal',
    change: `UPDATE cc.seals SET time = time + interval '1 millisecond' WHERE last = ${LAST}`,
    check: 'chain',
    says: /has another time than its events/,
    at: LAST,
  },
  {
    what: 'a forged step of the clock, which the role of the service can store',
    change: `SET ROLE cc_service; INSERT INTO cc.clock_steps VALUES (1000000000000, now(), '2001-01-01'); RESET ROLE`,
    check: 'order',
    says: /a step of the clock is recorded at position 1000000000000, and the seals show none there/,
  },
  {
    what: 'a deleted seal',
    change: `DELETE FROM cc.seals WHERE first <= ${SECOND} AND last >= ${SECOND}`,
    check: 'chain',
    says: /has no seal/,
    at: SECOND,
  },
  {
    what: 'the first seal deleted',
    change: 'DELETE FROM cc.seals WHERE last = (SELECT min(last) FROM cc.seals)',
    check: 'chain',
    says: /does not follow from the one at position 0/,
  },
  {
    what: 'all seals deleted',
    change: `DELETE FROM cc.seals; ${DROP_CHECKPOINTS}`,
    check: 'chain',
    says: /has no seal although it was appended with one/,
  },
  {
    what: 'one seal recomputed for a changed event',
    change: `${CHANGE_VALUE}; UPDATE cc.seals s SET digest = d.digest FROM (
      SELECT sha256(cc.event_digest(e.position, e.id, e.category, e.stream, e.version, e.type, e.site,
               (extract(epoch FROM e.time) * 1000)::bigint, e.actor, e.reference, e.data,
               cc.personal_digest(p.salt, p.subject, p.data))) AS digest
        FROM cc.events e JOIN cc.personal p USING (position) WHERE e.position = ${RECEIVED}) d WHERE s.last = ${RECEIVED}`,
    check: 'chain',
    says: /does not follow/,
    at: RECEIVED,
  },
  {
    what: 'a personal part of another site',
    change: `UPDATE cc.personal SET site = 'other.example' WHERE position = ${RECEIVED}`,
    check: 'chain',
    says: /has a personal part of another site/,
    at: RECEIVED,
  },
  {
    what: 'an erasure forged with the right digest',
    change: `INSERT INTO cc.erased_parts SELECT position, cc.personal_digest(salt, subject, data), position FROM cc.personal WHERE position = ${SECOND};
      DELETE FROM cc.personal WHERE position = ${SECOND}`,
    check: 'erasures',
    says: /is gone without a later erasure event of shop.example/,
    at: SECOND,
  },
  {
    what: 'an erasure forged before a true one',
    change: `INSERT INTO cc.erased_parts SELECT position, cc.personal_digest(salt, subject, data), position FROM cc.personal WHERE position = ${RECEIVED};
      DELETE FROM cc.personal WHERE position = ${RECEIVED}`,
    check: 'erasures',
    says: /shop.example: \d+ personal parts are gone, its erasure events account for \d+/,
  },
  {
    what: 'a personal part given to an erased event',
    change: `INSERT INTO cc.personal SELECT ${ERASED}, site, subject, data, salt FROM cc.personal WHERE position = ${RECEIVED}`,
    check: 'chain',
    says: /has a personal part although it is recorded as erased/,
    at: ERASED,
  },
  {
    what: 'a replaced checkpoint',
    change: `UPDATE cc.checkpoints SET token = (SELECT token FROM cc.checkpoints ORDER BY position LIMIT 1)
              WHERE position = (SELECT max(position) FROM cc.checkpoints)`,
    check: 'checkpoints',
    says: /is stored in the place of the one at position/,
  },
  {
    what: 'a changed signature',
    change: `UPDATE cc.checkpoints SET token = left(token, -86) || repeat('A', 86)`,
    check: 'checkpoints',
    says: /does not have a valid signature/,
  },
];
