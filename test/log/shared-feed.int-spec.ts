import fc from 'fast-check';
import { uuidv7 } from '../../src/kernel/uuid.js';
import { eraseSubject } from '../../src/log/erasure.js';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import type { Projection } from '../../src/log/projections/projection.js';
import { ProjectionRunner } from '../../src/log/projections/projection-runner.js';
import { listEvents, type Reducer } from '../../src/log/projections/reducer.js';
import { RecentEvents, RecentRow } from '../../src/log/recent-events.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import { createDatabase, openDatabase } from '../support/databases.js';

const SITE = 'shop.example';
const THINGS = listEvents({ categories: ['thing'] });
const POSITIONS: Reducer<number[]> = {
  categories: ['thing'],
  start: () => [],
  add: (positions, { position }) => positions.push(position),
};
const SUBJECTS = ['aa', 'bb', 'cc'].map((pair) => pair.repeat(32));

/** A row for each event that has a personal part. */
const people: Projection = {
  name: 'people',
  tables: ['people'],
  subjectColumns: [{ table: 'people', column: 'subject' }],
  reducers: [THINGS],
  async fold(page) {
    for (const { position, site, personal } of await page.reduce(THINGS)) {
      const subject = (personal as { subject: string } | null)?.subject;
      if (subject)
        await page.tx.query(`INSERT INTO people VALUES ($1, $2, decode($3, 'hex'))`, [position, site, subject]);
    }
  },
};

/** A row for each event. */
const events: Projection = {
  name: 'all_events',
  tables: ['all_events'],
  reducers: [POSITIONS],
  async fold(page) {
    for (const position of await page.reduce(POSITIONS)) {
      await page.tx.query('INSERT INTO all_events VALUES ($1)', [position]);
    }
  },
};

interface Instance {
  readonly log: PostgresEventLog;
  readonly runner: ProjectionRunner;
}

describe('projections of two instances that read recent events from memory', () => {
  let postgres: Postgres;
  const instances: Instance[] = [];

  beforeAll(async () => {
    postgres = await openDatabase(await createDatabase());
    const owner = await postgres.connectAsOwner('test');
    await owner.query(
      `CREATE TABLE cc.people (position bigint PRIMARY KEY, site text, subject bytea);
       CREATE TABLE cc.all_events (position bigint PRIMARY KEY);
       GRANT ALL ON cc.people, cc.all_events TO cc_service`,
    );
    await owner.end();
    instances.push(start(), start());
  });
  afterAll(async () => {
    for (const { log } of instances) await log.close();
    await postgres.close();
  });

  function start(): Instance {
    const recent = new RecentEvents();
    const log = new PostgresEventLog(postgres, {}, recent);
    return { log, runner: new ProjectionRunner(postgres, [people, events], () => {}, recent) };
  }

  const append = ({ log }: Instance, subject: number, data: object = {}) =>
    log.append({
      ...{ category: 'thing', stream: uuidv7(), expected: 'new', site: SITE, actor: 'system' },
      events: [{ type: 'thing.happened.v1', data, personal: { subject: SUBJECTS[subject] as string } }],
    });

  const erase = (subject: number) =>
    eraseSubject(postgres, {
      site: SITE,
      subjects: [SUBJECTS[subject] as string],
      linkedSubjects: () => [],
      projections: [people, events],
      record: () => ({
        ...{ category: 'thing', stream: uuidv7(), expected: 'new', site: SITE, actor: 'system' },
        events: [{ type: 'thing.erased.v1', data: {} }],
      }),
    });

  const rowsOf = async () => ({
    people: (await postgres.pool.query(`SELECT position, encode(subject, 'hex') FROM cc.people ORDER BY 1`)).rows,
    events: (await postgres.pool.query('SELECT position FROM cc.all_events ORDER BY 1')).rows,
  });

  const step = fc.record({
    what: fc.constantFrom('append', 'append', 'append', 'round', 'round', 'erase', 'rebuild', 'kill', 'park'),
    instance: fc.constantFrom(0, 1),
    subject: fc.constantFrom(0, 1, 2),
  });
  type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

  async function run({ what, instance: at, subject }: Step): Promise<void> {
    const instance = instances[at] as Instance;
    if (what === 'append') await Promise.all([append(instance, subject), append(instance, (subject + 1) % 3)]);
    if (what === 'round') await instance.runner.round();
    if (what === 'erase') await erase(subject);
    if (what === 'rebuild') await instance.runner.rebuild(subject === 0 ? 'people' : 'all_events');
    if (what === 'kill') {
      await instance.log.close();
      instances[at] = start();
    }
    if (what === 'park') {
      await postgres.pool.query(`UPDATE cc.projections SET parked = true, reason = 'test' WHERE name = 'all_events'`);
      await append(instance, subject);
      await instance.runner.round();
      await postgres.pool.query('UPDATE cc.projections SET parked = false, reason = NULL');
    }
  }

  it('have the rows of a fold of the log after any order of appends, rounds, erasures, rebuilds and restarts', async () => {
    for (const { runner } of instances) await runner.catchUp('people');
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        for (const each of steps) await run(each);
        for (const { runner } of instances) await runner.round();
        const live = await rowsOf();
        const [{ runner }] = instances as [Instance];
        for (const name of ['people', 'all_events']) await runner.rebuild(name);
        expect(live).toEqual(await rowsOf());
      }),
      { numRuns: 40, seed: 3 },
    );
  });

  it('are not given a personal part that was erased after it was appended', async () => {
    const [instance] = instances as [Instance];
    await instance.runner.round();
    await append(instance, 0);
    await erase(0);
    await instance.runner.round();
    const { people: rows } = await rowsOf();
    expect(rows.filter(({ encode }) => encode === SUBJECTS[0])).toEqual([]);
  });

  it('fold what another instance has appended in between', async () => {
    const [one, other] = instances as [Instance, Instance];
    await one.runner.round();
    const before = (await rowsOf()).events.length;
    await append(one, 1);
    await append(other, 1);
    await append(one, 1);
    await one.runner.round();
    expect((await rowsOf()).events.length).toBe(before + 3);
  });

  it('fold the event of the log at a position that had another one when this process appended it', async () => {
    const [one, other] = instances as [Instance, Instance];
    await one.runner.round();
    const recent = new RecentEvents();
    const runner = new ProjectionRunner(postgres, [people, events], () => {}, recent);
    const previous = await one.log.head();
    await append(other, 1);
    const position = await one.log.head();
    const lost = { type: 'thing.happened.v1', data: {}, personal: { subject: SUBJECTS[2] as string } };
    const request = { category: 'thing', stream: uuidv7(), site: SITE, actor: 'system' };
    recent.add(previous, [new RecentRow(position, 0, new Date(0).toISOString(), 1, request, lost, uuidv7())], 100);
    await runner.round();
    const { people: rows } = await rowsOf();
    expect(rows.find((row) => Number(row.position) === position)?.encode).toBe(SUBJECTS[1]);
  });

  it('fold from memory what this process has appended', async () => {
    const [one] = instances as [Instance];
    await one.runner.round();
    const recent = new RecentEvents();
    const fed: number[] = [];
    const watched: Projection = {
      ...events,
      fold: async (page) => {
        fed.push(...(await page.reduce(POSITIONS)));
        await expect(page.each({}, () => {})).rejects.toThrow('by its reducers alone');
        return events.fold(page);
      },
    };
    const log = new PostgresEventLog(postgres, {}, recent);
    const runner = new ProjectionRunner(postgres, [watched], () => {}, recent);
    await append({ log, runner }, 1);
    await append({ log, runner }, 2);
    const head = await log.head();
    await runner.round();
    expect(fed).toEqual([head - 1, head]);
    await log.close();
  });
});
