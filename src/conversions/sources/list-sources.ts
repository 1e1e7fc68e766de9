import type { ProjectionRunner } from '../../log/projections/projection-runner.js';
import type { Postgres } from '../../postgres/postgres.js';
import type { Site } from '../../sites/site.js';
import { sourceDocument } from '../../sites/sources/source-document.js';
import { fixtureNames } from '../../sources/fixtures.js';
import { changedMapping } from '../../sources/mapping/mapping.js';
import { SOURCES } from '../../sources/sources.js';

interface DeliveryRow {
  readonly keyId: string;
  readonly position: string;
  readonly time: Date;
  readonly topic: string;
  readonly outcome: string;
  readonly reason: string | null;
  readonly conversionId: string | null;
}

interface RefusalRow {
  readonly keyId: string;
  readonly reason: string;
  readonly count: number;
  readonly last: Date;
}

interface Dependencies {
  readonly postgres: Postgres;
  readonly projections: ProjectionRunner;
}

/** All sources, each with its connection to the site if there is one, its newest deliveries, and what was refused. */
export async function listSources({ postgres, projections }: Dependencies, site: Site) {
  await projections.catchUp('source_deliveries');
  const ids = site.sources.map(({ keyId }) => keyId);
  const { rows: deliveries } = await postgres.pool.query<DeliveryRow>(
    `SELECT key_id AS "keyId", position::text AS position, time, topic, outcome, reason, conversion AS "conversionId"
       FROM cc.source_deliveries WHERE key_id = ANY ($1) ORDER BY position DESC`,
    [ids],
  );
  const { rows: refusals } = await postgres.pool.query<RefusalRow>(
    `SELECT key_id AS "keyId", reason, count::float8 AS count, last FROM cc.source_refusals WHERE key_id = ANY ($1) ORDER BY reason`,
    [ids],
  );
  return SOURCES.map(({ name: source, label, secret, mapping }) => {
    const connection = site.sources.find((each) => each.source === source);
    const own = <Row extends { readonly keyId: string }>(rows: readonly Row[]) =>
      rows.filter(({ keyId }) => keyId === connection?.keyId);
    return {
      source,
      label,
      secretFrom: secret,
      fixtures: fixtureNames(source),
      rules: changedMapping(mapping, connection?.mapping ?? {}),
      ...(connection && { connection: sourceDocument(site, connection) }),
      deliveries: own(deliveries).map(({ position, time, topic, outcome, reason, conversionId }) => ({
        ...{ position, time: time.toISOString(), topic, outcome },
        ...(reason !== null && { reason }),
        ...(conversionId !== null && { conversionId }),
      })),
      refused: own(refusals).map(({ reason, count, last }) => ({ reason, count, last: last.toISOString() })),
    };
  });
}
