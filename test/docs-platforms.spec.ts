import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ErrorRow, rowOf } from '../src/platforms/error-table.js';
import { PLATFORMS } from '../src/platforms/index.js';
import type { LimitedConversion, Platform, Verdict } from '../src/platforms/platform.js';
import { changedConnection, newConnection } from '../src/sites/connections/connection-settings.js';

const FOLDER = 'docs/platforms';
const INDEX = join(FOLDER, 'README.md');
const SECTIONS = [
  'What you need',
  'Find each setting',
  'Connect',
  'Send a test conversion and see it there',
  'What is sent, and when nothing is sent',
  'Errors and what to do',
  'Limits and sources',
];
const SETTINGS_HEAD = ['setting', 'needed', 'where to find it', 'example'];
const SKIPS_HEAD = ['reason', 'when', 'what to do'];
const ERRORS_HEAD = ['answer', 'meaning', 'what happens', 'what to do'];

/** Statuses that every page explains, as they are without an answer that says more. */
const STATUSES = ['HTTP 400', 'HTTP 401', 'HTTP 403', 'HTTP 404', 'HTTP 429', 'HTTP 5xx'];
/** Without the text of an answer, which may change what happens. */
const STATUS = /^HTTP \d(?:\d\d|xx)$/;
const MODES = ['data_manager', 'upload', 'capi', 'offline'];
const HOUR_MS = 3_600_000;

/** The words of "what happens". */
const HAPPENS: Readonly<Record<Verdict['kind'] | ErrorRow['verdict'], string>> = {
  delivered: 'delivered',
  accepted: 'accepted',
  rejected: 'rejected',
  retry: 'retried',
  throttled: 'retried',
  server_error: 'retried',
  unauthorized: 'parked',
  misconfigured: 'parked',
  gone: 'paused',
  resend: 'split',
  without: 'retried',
  split: 'split',
};

/** A page has a row for a setting of every platform only if its value comes from the platform. */
const COMMON_SETTINGS = commonSettings();

const read = (file: string) => readFileSync(file, 'utf8');
const fileOf = ({ name }: Pick<Platform, 'name'>) => join(FOLDER, `${name}.md`);

describe('the index of the platforms’ pages', () => {
  it('links to the page of every platform, in the order of a receipt', () => {
    const linked = [...read(INDEX).matchAll(/^\| \[`(\w+)`\]\((\w+\.md)\) /gm)].map(([, name, file]) => [name, file]);
    expect(linked).toEqual(PLATFORMS.map(({ name }) => [name, `${name}.md`]));
  });

  it('names every setting that all platforms have', () => {
    const named = codesIn(read(INDEX));
    expect(COMMON_SETTINGS).toContain('events');
    expect(COMMON_SETTINGS.filter((setting) => !named.includes(setting))).toEqual([]);
  });

  it('explains every reason for a skip that does not depend on the platform', () => {
    const explained = rowsOf(INDEX, SKIPS_HEAD).map(([reason = '']) => codesIn(reason)[0]);
    expect(explained).toEqual(skipReasonsIn('src/delivery', 'src/delivery/payload', 'src/platforms'));
  });

  it('explains every word for what happens after an answer', () => {
    const explained = rowsOf(INDEX, ['what happens', 'meaning']).map(([word]) => word);
    expect(explained.toSorted()).toEqual([...new Set(Object.values(HAPPENS))].sort());
  });
});

describe.each(PLATFORMS)('the page of $name', (platform) => {
  const file = fileOf(platform);
  const { name, fields } = platform;

  it('exists, with the sections of every page', () => {
    expect(existsSync(file) ? sectionsOf(file) : `${file} is missing`).toEqual(SECTIONS);
  });

  it('has a row for each setting, in the order of the fields', () => {
    const rows = rowsOf(file, SETTINGS_HEAD).map(([setting = '', needed = '']) => ({
      name: codesIn(setting)[0],
      needed,
    }));
    const missing = fields.flatMap(({ name, required, secret }) => {
      const needed = `${required ? 'required' : 'optional'}${secret ? ', secret' : ''}`;
      const isStated = rows.some((row) => row.name === name && row.needed === needed);
      return isStated ? [] : [`add to "Find each setting": | \`${name}\` | ${needed} | where to find it | example |`];
    });
    expect({ file, missing }).toEqual({ file, missing: [] });
    const own = rows.map(({ name = '' }) => name).filter((name) => !COMMON_SETTINGS.includes(name));
    expect(own).toEqual(fields.map(({ name }) => name));
  });

  it('shows examples that the settings accept, and the defaults', () => {
    const wrong = rowsOf(file, SETTINGS_HEAD).flatMap(([setting = '', , , example = '']) => {
      const field = fields.find(({ name }) => name === codesIn(setting)[0]);
      if (field === undefined) return [];
      const fallback = field.fallback === undefined ? '' : `default \`${field.fallback}\``;
      const problems = codesIn(example).map((code) => field.check?.(code));
      if (codesIn(example).length === 0) problems.push('has no example');
      if (!example.includes(fallback)) problems.push(`must state "${fallback}"`);
      return problems.flatMap((problem) => (problem === undefined ? [] : [`${field.name}: ${problem}`]));
    });
    expect(wrong).toEqual([]);
  });

  it('names only settings that exist', () => {
    const known = [...fields.map((field) => field.name), ...COMMON_SETTINGS];
    const named = [...read(file).matchAll(/(?:--set(?:-file)? |`)([a-z][a-z_]*(?:\.[^\s=`]+)?)=/g)].map(
      ([, setting = '']) => setting.replace(/^event\..+/, 'event.<ours>').replace(/^field\..+/, 'field.<theirs>'),
    );
    expect(named.filter((setting) => !known.includes(setting))).toEqual([]);
  });

  it('shows commands that connect the platform', () => {
    const commands = blocksOf(file).filter((line) => line.startsWith('npx clean-conversions platforms connect '));
    let connection = newConnection(platform);
    for (const command of commands) {
      const [, target] = /connect (\w+) --site shop\.example/.exec(command) ?? [];
      expect([command, target]).toEqual([command, name]);
      connection = changedConnection(platform, connection, { set: settingsIn(command) }, 'whsec_c2VjcmV0');
    }
    expect(commands.length).toBeGreaterThan(0);
  });

  it('explains every reason for a skip', () => {
    const explained = rowsOf(file, SKIPS_HEAD).map(([reason = '']) => codesIn(reason)[0] ?? '');
    const tooOld = ageLimitsOf(platform).length > 0 ? ['too_old'] : [];
    const returned = [...skipReasonsIn(`src/platforms/${name}`), ...tooOld];
    const missing = returned
      .filter((reason) => !explained.includes(reason))
      .map((reason) => `add to "What is sent, and when nothing is sent": | \`${reason}\` | when | what to do |`);
    expect({ file, missing }).toEqual({ file, missing: [] });
    expect(explained.filter((reason) => !returned.includes(reason))).toEqual([]);
  });

  it('states the age limits of conversions', () => {
    const text = rowsOf(file, SKIPS_HEAD).join('\n');
    const missing = ageLimitsOf(platform).filter(
      (hours) => !new RegExp(`\\b(${hours} hours|${hours / 24} days)\\b`).test(text),
    );
    expect(missing).toEqual([]);
  });

  it('explains every code of the error tables, with what happens and what to do', async () => {
    const tables = await errorTablesOf(name);
    const rows = rowsOf(file, ERRORS_HEAD);
    const missing = tables.flat().flatMap(({ codes, verdict, fix = '' }) =>
      codes.flatMap((code) => {
        const text = typeof code === 'object' ? code.join('–') : String(code);
        const row = rows.find(([answer = '']) => codesIn(answer).includes(text));
        if (row === undefined)
          return [`${text}: add it to a row of "Errors and what to do": ${HAPPENS[verdict]}. ${fix}`];
        const [, , happens = '', toDo = ''] = row;
        return [
          ...(isSaid(happens, HAPPENS[verdict]) ? [] : [`${text}: is ${HAPPENS[verdict]}, not ${happens}`]),
          ...(toDo.replaceAll('`', '').includes(fix) ? [] : [`${text}: what to do must contain: ${fix}`]),
        ];
      }),
    );
    expect({ file, missing: [...new Set(missing)] }).toEqual({ file, missing: [] });
  });

  it('names no other code than rejections', async () => {
    const table = (await errorTablesOf(name)).flat();
    const wrong = rowsOf(file, ERRORS_HEAD).flatMap(([answer = '', , happens = '']) =>
      codesIn(answer).filter((code) => {
        const isRange = table.some(({ codes }) =>
          codes.some((entry) => typeof entry === 'object' && entry.join('–') === code),
        );
        return !isRange && rowOf(table, code) === undefined && !isSaid(happens, 'rejected');
      }),
    );
    expect(wrong).toEqual([]);
  });

  it('states what happens after an HTTP status', () => {
    const stated = rowsOf(file, ERRORS_HEAD).flatMap(([answer = '', , happens = '']) =>
      answer.split(', ').flatMap((status) => (STATUS.test(status) ? [{ status, happens }] : [])),
    );
    const found = stated.map(({ status }) => status);
    expect(STATUSES.filter((status) => !found.includes(status))).toEqual([]);
    expect(stated.filter(({ status, happens }) => !isSaid(happens, happensAfter(platform, status)))).toEqual([]);
  });
});

function happensAfter(platform: Platform, text: string): string {
  const status = Number(text.slice('HTTP '.length).replaceAll('x', '0'));
  const verdict = platform.verdict({ status, headers: {}, text: '', json: undefined }, 1);
  return HAPPENS[([verdict].flat()[0] as Verdict).kind];
}

/** "retried after 6 hours" says "retried". */
function isSaid(happens: string, word: string): boolean {
  return new RegExp(`^${word}\\b`).test(happens);
}

/** The age limits in hours, with every mode that the platform has, also of store sales and corrections. */
function ageLimitsOf({ limits, fields }: Platform): number[] {
  const mode = fields.find(({ name }) => name === 'mode');
  const modes = mode ? MODES.filter((value) => mode.check?.(value) === undefined) : [''];
  const limited: LimitedConversion[] = [{}, { source: 'physical_store' }, { order: { timeMs: 0 } }];
  const ages = modes.flatMap((mode) => limited.flatMap((one) => limits?.({ mode }, one)?.ageMaxMs ?? []));
  return [...new Set(ages)].map((ms) => ms / HOUR_MS);
}

/** Every list of rows that `errors.ts` of the platform exports. */
async function errorTablesOf(name: string): Promise<ErrorRow[][]> {
  if (!existsSync(`src/platforms/${name}/errors.ts`)) return [];
  const module = (await import(`../src/platforms/${name}/errors.js`)) as Record<string, ErrorRow[]>;
  return Object.values(module).filter((table) => Array.isArray(table));
}

/** The settings that `platforms connect` offers for every platform. */
function commonSettings(): string[] {
  const [platform] = PLATFORMS as [Platform];
  try {
    changedConnection(platform, newConnection(platform), { set: { unknown: 'x' } }, '');
  } catch (error) {
    const [, offered = ''] = /Available: (.*)\.$/.exec((error as Error).message) ?? [];
    return offered.split(', ').filter((setting) => !platform.fields.some(({ name }) => name === setting));
  }
  return [];
}

function skipReasonsIn(...folders: string[]): string[] {
  const sources = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
      .map((file) => join(folder, file)),
  );
  const found = sources.flatMap((file) =>
    [...read(file).matchAll(/\bskip: '(\w+)'/g)].map(([, reason = '']) => reason),
  );
  return [...new Set(found)].sort();
}

function sectionsOf(file: string): string[] {
  return [...read(file).matchAll(/^## (.*)$/gm)].map(([, title = '']) => title);
}

/** The cells of all tables of the file with this head. */
function rowsOf(file: string, head: readonly string[]): string[][] {
  const line = `| ${head.join(' | ')} |`;
  return read(file)
    .split('\n\n')
    .map((block) => block.trim().split('\n'))
    .filter(([first]) => first === line)
    .flatMap(([, , ...rows]) =>
      rows.map((row) =>
        row
          .slice(2, -2)
          .split(' | ')
          .map((cell) => cell.trim()),
      ),
    );
}

function codesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

/** The commands of the text blocks, each as one line. */
function blocksOf(file: string): string[] {
  return [...read(file).matchAll(/^```text\n([\s\S]*?)^```$/gm)].flatMap(([, block = '']) =>
    block
      .replace(/ *\\\n */g, ' ')
      .trim()
      .split('\n'),
  );
}

/** A value from a file is any text. */
function settingsIn(command: string): Record<string, string> {
  const given = [...command.matchAll(/--set(-file)? ([^\s=]+)=(?:"([^"]*)"|(\S*))/g)];
  return Object.fromEntries(
    given.map(([, fromFile, name, quoted, plain]) => [name, fromFile ? 'example' : (quoted ?? plain)]),
  );
}
