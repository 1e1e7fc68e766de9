import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FORMATS, type FormatName } from '../src/history/export-formats.js';
import type { StoredEvent } from '../src/log/event.js';
import { createEmptyDatabase } from './support/databases.js';
import { temporaryFolder } from './support/folders.js';

/** An interpreter with the analysts' packages, such as that of a virtual environment. */
const python = process.env['CC_PYTHON'] ?? 'python3';
const PACKAGES = ['pyarrow', 'duckdb', 'polars', 'pandas'];
const canRun = spawnSync(python, ['-c', `import ${PACKAGES.join(', ')}`]).status === 0;
if (!canRun)
  console.warn(
    `SKIPPED: foreign readers of exports (pip install ${PACKAGES.join(' ')}; CC_PYTHON names the interpreter).`,
  );

/** Two events a second around midnight UTC and around a change to summer time in New York. */
const EVENTS = ['2026-03-07T23:59:58.250Z', '2026-03-08T06:59:58.750Z'].flatMap((start, block) =>
  Array.from({ length: 6 }, (_, at) =>
    eventAt(block * 6 + at + 1, new Date(Date.parse(start) + at * 500).toISOString()),
  ),
);
const EXPECTED = EVENTS.map(({ position, time, data }) => {
  const { value } = data as { value?: number };
  return [position, Date.parse(time), value === undefined ? null : value.toFixed(9)];
});

const READERS = `
import json, sys
import duckdb, pandas as pd, polars as pl, pyarrow.parquet as pq

def value(of):
    return None if of is None or of != of else format(of, '.9f')

found = {}
table = pq.read_table('events.parquet', columns=['position', 'time', 'value'])
assert str(table.schema.field('time').type) == 'timestamp[ms, tz=UTC]', table.schema
found['pyarrow'] = [[p, t, value(v)] for p, t, v in zip(table['position'].to_pylist(), table['time'].cast('int64').to_pylist(), table['value'].to_pylist())]
frame = pd.read_parquet('events.parquet')
found['pandas'] = [[int(p), round(t.timestamp() * 1000), value(v)] for p, t, v in zip(frame['position'], frame['time'], frame['value'])]
frame = pl.read_parquet('events.parquet')
found['polars'] = [[p, t, value(v)] for p, t, v in frame.select('position', pl.col('time').dt.epoch('ms'), 'value').rows()]
database = duckdb.connect()
database.execute("SET TimeZone = 'America/New_York'")
for name, source in {'duckdb': "'events.parquet'", 'duckdb folder': "'events/day=*/part-*.parquet'", 'duckdb csv': "read_csv('events.csv', types={'value': 'DECIMAL(38,9)'})"}.items():
    found[name] = [[p, t, value(v)] for p, t, v in database.sql(f"SELECT position, epoch_ms(time::TIMESTAMPTZ), value FROM {source} ORDER BY position").fetchall()]
days = database.sql("SELECT (time AT TIME ZONE 'UTC')::DATE::VARCHAR, count(*) FROM 'events.parquet' GROUP BY ALL ORDER BY ALL").fetchall()
print(json.dumps({'rows': found, 'days': days}))
`;

/** Orders of UTF-16 and of UTF-8 differ, and bounds of long texts may be cut. */
const TEXTS = [
  'abc',
  'Zürich',
  'ＳＡＬＥ',
  '🎉 launch',
  '\u{10ffff}',
  '\uffff',
  'é'.repeat(300),
  'x'.repeat(5_000),
  `${'x'.repeat(4_999)}y`,
  `${'ü'.repeat(2_000)}🎉`,
];

const TEXT_READERS = `
import json
import duckdb, polars as pl, pyarrow.parquet as pq

texts = json.load(open('texts.json'))
def by_duckdb(where):
    return [[p for p, in duckdb.execute(f"SELECT position FROM 'texts.parquet' WHERE event {where} ? ORDER BY position", [t]).fetchall()] for t in texts]
def by_polars(condition):
    return [pl.scan_parquet('texts.parquet').filter(condition(pl.col('event'), t)).select('position').collect()['position'].sort().to_list() for t in texts]
print(json.dumps({
    'duckdb': by_duckdb('='),
    'polars': by_polars(lambda column, text: column == text),
    'pyarrow': [pq.read_table('texts.parquet', filters=[('event', '=', t)])['position'].to_pylist() for t in texts],
    'from duckdb': by_duckdb('>='),
    'from polars': by_polars(lambda column, text: column >= text),
}))
`;

const hasPsql = spawnSync('psql', ['--version']).status === 0;
if (!hasPsql) console.warn('SKIPPED: the recipes for PostgreSQL (install the package postgresql-client).');

let folder: string;

beforeAll(() => {
  folder = temporaryFolder('cc-analyse-');
  for (const format of ['parquet', 'csv', 'ndjson'] as const)
    writeFileSync(join(folder, `events.${format}`), bytesOf(format));
  mkdirSync(join(folder, 'events/day=2026-03-07'), { recursive: true });
  writeFileSync(join(folder, 'events/day=2026-03-07/part-000000000001-000000000012.parquet'), bytesOf('parquet'));
});

afterAll(() => rmSync(folder, { recursive: true }));

(canRun ? describe : describe.skip)('foreign readers', () => {
  it('agree with the events on counts, times and values, also in another time zone', () => {
    const { rows, days } = JSON.parse(run(READERS));
    expect(Object.keys(rows)).toHaveLength(6);
    for (const [reader, found] of Object.entries(rows)) expect([reader, found]).toEqual([reader, EXPECTED]);
    expect(days).toEqual([
      ['2026-03-07', 4],
      ['2026-03-08', 8],
    ]);
  });

  it.each(recipes())('run the recipe %#: %s', (_, language, code) => {
    const script = language === 'sql' ? `import duckdb\nprint(duckdb.sql(${JSON.stringify(code)}))` : code;
    expect(run(script)).not.toBe('');
  });

  it('get the same totals from the recipes of all tools, without trial conversions and corrections', () => {
    const counted = EVENTS.map(({ data }) => data as { value?: number; trial?: boolean; correction?: true }).filter(
      ({ trial, correction }) => trial === false && !correction,
    );
    const cents = counted.reduce((sum, { value = 0 }) => sum + Math.round(value * 100), 0);
    const expected = [['purchase', 'EUR', counted.length, (cents / 100).toFixed(9)]];
    const same = recipes('sql|python|text').filter(([, , code]) => /totals =|SELECT event, currency/.test(code));
    expect(same).toHaveLength(4);
    for (const recipe of same) expect([recipe[0], totalsOf(recipe)]).toEqual([recipe[0], expected]);
  });

  it('find every text, also where readers skip row groups by their bounds', () => {
    // Each pair of texts is a row group: by a wrong bound a reader would skip one that has the text.
    const pairs = TEXTS.flatMap((one, at) => TEXTS.slice(at + 1).map((other) => [one, other] as const));
    const rows = pairs.flat();
    const file = FORMATS.parquet();
    const groups = pairs.map((pair, at) => {
      for (const [index, text] of pair.entries()) file.add(rowOf(textEvent(2 * at + index + 1, text)));
      return file.take();
    });
    writeFileSync(join(folder, 'texts.parquet'), Buffer.concat([...groups, file.end()]));
    writeFileSync(join(folder, 'texts.json'), JSON.stringify(TEXTS));
    const positions = (select: (text: string) => boolean) => rows.flatMap((text, at) => (select(text) ? [at + 1] : []));
    const equal = TEXTS.map((wanted) => positions((text) => text === wanted));
    // Texts are ordered by the bytes of UTF-8.
    const notBefore = TEXTS.map((from) =>
      positions((text) => Buffer.compare(Buffer.from(text), Buffer.from(from)) >= 0),
    );
    expect(JSON.parse(run(TEXT_READERS))).toEqual({
      ...{ duckdb: equal, polars: equal, pyarrow: equal },
      ...{ 'from duckdb': notBefore, 'from polars': notBefore },
    });
  });
});

(hasPsql ? describe : describe.skip)('PostgreSQL', () => {
  it('loads the CSV as described, and answers both questions', async () => {
    const env = { ...process.env, ANALYSIS_URL: await createEmptyDatabase() };
    const run = (program: string, ...args: string[]) =>
      execFileSync(program, args, { cwd: folder, env, encoding: 'utf8', stdio: 'pipe' });
    const [, , load = ''] = recipes('text').find(([, , code]) => code.includes('psql')) ?? [];
    run('sh', '-ec', load.replace(/^npx .*$/m, ''));
    const answers = recipes('postgresql').map(([, , query]) =>
      // The events are of a fixed week.
      run('psql', env.ANALYSIS_URL, '-Atc', query.replace('now()', "timestamptz '2026-03-09'")).trim().split('\n'),
    );
    const received = EVENTS.filter(({ data }) => 'orderId' in data && !(data as { trial: boolean }).trial);
    expect(answers).toEqual([
      [expect.stringMatching(/^\|\|EUR\|6\|/)],
      received.map(({ time, data }) => expect.stringContaining(`${(data as { orderId: string }).orderId}|${time}|`)),
    ]);
  });
});

/** In which the recipes of all tools for the same question end: event, currency, count and sum. */
function totalsOf([, language, code]: ReturnType<typeof recipes>[number]): unknown {
  const print = 'print(json.dumps([[*key, int(count), format(value, ".9f")] for *key, count, value in rows]))';
  if (language === 'python')
    return lastLine(
      `import json\n${code}\nrows = [(*key, *row) for key, row in zip(totals.index, totals.values)]\n${print}`,
    );
  const [query = ''] = /SELECT event, currency[^;]*/.exec(code) ?? [];
  const local = query.replace(/shop\.events|file\([^)]*\)/, "'events.parquet'");
  return lastLine(`import json, duckdb\nrows = duckdb.sql(${JSON.stringify(local)}).fetchall()\n${print}`);
}

function lastLine(script: string): unknown {
  return JSON.parse(run(script).trim().split('\n').at(-1) as string);
}

function recipes(languages = 'sql|python'): [title: string, language: string, code: string][] {
  const document = readFileSync(join(import.meta.dirname, '../docs/analyse.md'), 'utf8');
  const blocks = [...document.matchAll(new RegExp(`\`\`\`(${languages})\\n([\\s\\S]*?)\`\`\``, 'g'))];
  return blocks.map(([, language = '', code = '']) => [code.split('\n')[0] as string, language, code]);
}

function run(script: string): string {
  return execFileSync(python, ['-c', script], { cwd: folder, encoding: 'utf8', stdio: 'pipe', timeout: 120_000 });
}

function bytesOf(name: FormatName): Buffer {
  const format = FORMATS[name]({ flat: true });
  for (const event of EVENTS) format.add(rowOf(event));
  return Buffer.concat([format.take(), format.end()]);
}

function rowOf(event: StoredEvent) {
  const { position, type, data } = event;
  return { position, type, dataText: JSON.stringify(data), event: () => event, writeLine: () => {} };
}

function textEvent(position: number, event: string): StoredEvent {
  const stored = eventAt(1, '2026-03-07T12:00:00.000Z');
  return { ...stored, position, data: { ...stored.data, event } } as never;
}

function eventAt(position: number, time: string): StoredEvent {
  const envelope = {
    position,
    id: `id-${position}`,
    stream: `conversion-${position}`,
    version: 1,
    site: 'shop.example',
  };
  const isOutcome = position % 3 === 0;
  const data = isOutcome
    ? { platform: 'meta', attempt: 1, status: 'delivered', durationMs: 12.5 }
    : {
        event: 'purchase',
        value: position * 0.1 + 19.99,
        currency: 'EUR',
        orderId: `0${position}`,
        keyId: 'key',
        trial: position === 4,
        ...(position === 5 && { correction: true }),
      };
  const rounded = 'value' in data ? { ...data, value: Number((data.value as number).toFixed(2)) } : data;
  const type = isOutcome ? 'conversion.delivered.v1' : 'conversion.received.v1';
  return { ...envelope, type, time, actor: 'system', data: rounded, personal: null } as never;
}
