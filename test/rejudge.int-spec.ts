import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VISITOR, type VisitData, type VisitPersonal, type VisitSignals } from '../src/events/visitor.events.js';
import { uuidv7 } from '../src/kernel/uuid.js';
import type { StoredEvent } from '../src/log/event.js';
import type { EventLog } from '../src/log/event-log.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { ProjectionRunner } from '../src/log/projections/projection-runner.js';
import type { Postgres } from '../src/postgres/postgres.js';
import { DEFAULT_SITE_SETTINGS } from '../src/sites/site-settings.js';
import { loadBotList } from '../src/visitors/bots/bot-list.js';
import { BotScorer, siteRulesOf } from '../src/visitors/bots/bot-scorer.js';
import { inlineOf } from '../src/visitors/identifier-record.js';
import { identifiersProjection } from '../src/visitors/inline.projections.js';
import { commandLine } from './support/command-line.js';
import { createDatabase, openDatabase } from './support/databases.js';
import { temporaryFolder } from './support/folders.js';

const SITE = 'shop.example';
const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36';
const WATCHER = `${BROWSER} ShopWatch/2`;
const PERSON = 'ab'.repeat(32);
const OTHER = 'cd'.repeat(32);

const folder = temporaryFolder('cc-rejudge-');
const list = join(folder, 'bots.json');
writeFileSync(list, JSON.stringify({ version: 'ours-1', crawlers: ['ShopWatch'] }));
const scorer = new BotScorer(loadBotList());
const NO_RULES = siteRulesOf(DEFAULT_SITE_SETTINGS);

describe('history rejudge', () => {
  let postgres: Postgres;
  let log: EventLog;
  let cli: ReturnType<typeof commandLine>['run'];

  beforeEach(async () => {
    const url = await createDatabase();
    cli = commandLine({ DATABASE_URL: url, SECRET_KEY: 'ab'.repeat(32), DATA_DIR: folder }).run;
    postgres = await openDatabase(url);
    log = new PostgresEventLog(postgres);
    expect(await cli(`sites add ${SITE}`)).toMatchObject({ code: 0 });
  });
  afterEach(async () => {
    await log.close();
    await postgres.close();
  });

  it('shows changed verdicts, those that cross the threshold first, and stores nothing', async () => {
    const automated = await visit({ userAgent: BROWSER, webdriver: true }, PERSON, {
      score: 95,
      reasons: ['headless'],
    });
    const watcher = await visit({ userAgent: WATCHER, ip: '198.51.100.7' }, OTHER);
    await visit({ userAgent: BROWSER });
    await visit({ userAgent: WATCHER }, PERSON, {}, 'other.example');
    await eraseVisit();
    const head = await log.head();

    const { code, stdout } = await cli(`history rejudge --site ${SITE} --list ${list} --json`);
    expect(code).toBe(0);
    const rescored = (score: number, reason: string) => ({ score, reasons: [reason], list: 'ours-1/rules-1' });
    expect(JSON.parse(stdout)).toEqual({
      site: SITE,
      threshold: 30,
      apply: false,
      judged: 3,
      erased: 1,
      applied: 0,
      changes: [
        {
          ...summaryOf(watcher),
          before: { score: 0, reasons: [], list: scorer.score({}, NO_RULES).list },
          after: rescored(90, 'declared_crawler'),
          verdict: 'becomes_bot',
        },
        {
          ...summaryOf(automated),
          before: { score: 95, reasons: ['headless'], list: expect.any(String) },
          after: rescored(90, 'automation'),
          verdict: 'stays',
        },
      ],
    });
    expect(await log.head()).toBe(head);
  });

  it('prints a table without personal data', async () => {
    await visit({ userAgent: WATCHER, ip: '198.51.100.7' }, PERSON);
    await eraseVisit();
    const { stdout, stderr } = await cli(`history rejudge --site ${SITE} --list ${list}`);
    expect(stdout).toMatch(/^POSITION .*\n\d+ +\S+Z +0 +90 +becomes bot +- +declared_crawler\n/);
    expect(stdout).toContain(
      '1 of 1 verdicts change (threshold 30): 1 newly classified as bots, 0 no longer, 0 with another score only.\n',
    );
    expect(stdout).toContain('Visits of erased people that could not be scored: 1.\n');
    expect(stderr).toContain('--apply stores the new verdicts');
    expect(stdout + stderr).not.toMatch(/ShopWatch|198\.51|abab/);
  });

  it('stores changed verdicts once with --apply, and reverts them with the old list', async () => {
    const visited = await visit({ userAgent: WATCHER }, PERSON);
    const apply = `history rejudge --site ${SITE} --apply --json`;
    expect(JSON.parse((await cli(`${apply} --list ${list}`)).stdout)).toMatchObject({ applied: 1 });
    const events = await log.readStream(VISITOR, idOf(visited));
    expect(events).toHaveLength(2);
    expect(events[1]).toMatchObject({
      type: 'visitor.rejudged.v1',
      version: 2,
      actor: expect.stringMatching(/^cli:/),
      site: SITE,
      data: {
        bot: { score: 90, reasons: ['declared_crawler'], list: 'ours-1/rules-1' },
        mode: 'enforce',
        from: 0,
        seenAt: visited.time,
      },
      personal: { subject: PERSON },
    });
    expect(await storedVerdict(PERSON)).toMatchObject({ score: 90 });

    expect(JSON.parse((await cli(`${apply} --list ${list}`)).stdout)).toMatchObject({ applied: 0, changes: [] });
    expect(JSON.parse((await cli(apply)).stdout)).toMatchObject({
      applied: 1,
      changes: [{ before: { score: 90 }, after: { score: 0 }, verdict: 'becomes_person' }],
    });
    expect(await storedVerdict(PERSON)).toMatchObject({ score: 0 });
    expect(await log.readStream(VISITOR, idOf(visited))).toHaveLength(3);
  });

  it('does not override the verdict of a later visit, also after a rebuild', async () => {
    const early = await visit({ userAgent: WATCHER }, PERSON);
    await waitUntilAfter(early);
    await visit({ userAgent: BROWSER }, PERSON);
    expect(
      JSON.parse((await cli(`history rejudge --site ${SITE} --list ${list} --apply --json`)).stdout),
    ).toMatchObject({ applied: 1 });
    expect(await storedVerdict(PERSON)).toMatchObject({ score: 0 });
    await new ProjectionRunner(postgres, [identifiersProjection]).rebuild('identifiers');
    expect(await storedVerdict(PERSON)).toMatchObject({ score: 0 });
  });

  it('applies the current rules of the site within the given position range', async () => {
    const first = await visit({ userAgent: BROWSER, ip: '203.0.113.5' });
    const second = await visit({ userAgent: BROWSER, ip: '203.0.113.6' });
    await visit({ userAgent: BROWSER, ip: '203.0.113.7' });
    await cli(`sites set ${SITE} --block-ip 203.0.113.0/24 --bot-mode observe`);
    const range = `--from ${second.position} --to ${second.position + 1}`;
    const { stdout } = await cli(`history rejudge --site ${SITE} ${range} --apply --json`);
    expect(JSON.parse(stdout)).toMatchObject({
      judged: 1,
      changes: [{ ...summaryOf(second), after: { score: 100, reasons: ['blocked_ip'] } }],
    });
    expect((await log.readStream(VISITOR, idOf(second)))[1]?.data).toMatchObject({ mode: 'observe' });
    expect(await log.readStream(VISITOR, idOf(first))).toHaveLength(1);
  });

  it('reads more than one page', async () => {
    const verdict = (score: number) => ({ score, reasons: [] });
    // Some at a time: each waits for one of a few connections.
    for (let made = 0; made < 1_203; made += 100)
      await Promise.all(
        Array.from({ length: Math.min(100, 1_203 - made) }, (_, index) =>
          visit({ userAgent: BROWSER }, PERSON, verdict(index % 2)),
        ),
      );
    const { stdout } = await cli(`history rejudge --site ${SITE} --json`);
    const { judged, changes } = JSON.parse(stdout);
    expect({ judged, changes: changes.length }).toEqual({ judged: 1_203, changes: 601 });
  });

  it('rejects an unreadable list and an unknown site', async () => {
    const missing = await cli(`history rejudge --site ${SITE} --list`, join(folder, 'none.json'));
    expect(missing).toMatchObject({ code: 1, stdout: '' });
    expect(missing.stderr).toContain('cannot be used: it cannot be read (ENOENT)');
    expect(await cli('history rejudge --site unknown.example')).toMatchObject({ code: 1 });
    expect(await cli('history rejudge')).toMatchObject({ code: 2 });
  });

  async function visit(
    signals: VisitSignals,
    subject = PERSON,
    verdict: { score?: number; reasons?: string[] } = {},
    site = SITE,
  ): Promise<StoredEvent> {
    const bot = { ...scorer.score(signals, NO_RULES), ...verdict } as VisitData['bot'];
    const data: VisitData = { visit: uuidv7(), clicks: [], campaign: false, bot };
    const personal: VisitPersonal = { subject, visitor: uuidv7(), clicks: {}, utm: {}, cookies: {}, signals };
    const event = { type: 'visitor.identified.v1', data, personal } as const;
    const stream = uuidv7();
    await log.append({
      category: VISITOR,
      stream,
      expected: 'new',
      site,
      actor: 'tag',
      events: [{ ...event, inline: inlineOf(event) }],
    });
    return (await log.readStream(VISITOR, stream))[0] as StoredEvent;
  }

  /** Leaves a visit without its personal part, as an erasure does. */
  async function eraseVisit(): Promise<void> {
    const { position } = await visit({ userAgent: WATCHER }, 'ef'.repeat(32));
    await postgres.pool.query('DELETE FROM cc.personal WHERE position = $1', [position]);
  }

  /** Times are stored in milliseconds; waits until the next visit gets a later one. */
  async function waitUntilAfter({ time }: StoredEvent): Promise<void> {
    while (Date.now() <= Date.parse(time) + 1) await new Promise((resolve) => setTimeout(resolve, 1));
  }

  async function storedVerdict(subject: string): Promise<unknown> {
    const { rows } = await postgres.pool.query(
      `SELECT value FROM cc.identifiers WHERE site = $1 AND subject = decode($2, 'hex') AND kind = 'bot'`,
      [SITE, subject],
    );
    return rows[0]?.value;
  }
});

function summaryOf({ position, time, type }: StoredEvent) {
  return { position, time, type };
}

function idOf({ stream }: StoredEvent): string {
  return stream.slice(VISITOR.length + 1);
}
