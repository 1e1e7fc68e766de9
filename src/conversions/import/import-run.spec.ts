import { subjectOf } from '../../kernel/email.js';
import type { SiteKey } from '../../sites/site.js';
import type { LoadedSite } from '../../sites/site-directory.js';
import type { ReceiveConversion } from '../receive-conversion.command.js';
import type { SourceLine } from './import-options.js';
import { type ImportCounts, type ImportRun, runImport } from './import-run.js';

function line(email: string): SourceLine {
  const body = { event: 'purchase', email, value: 5, currency: 'EUR' };
  return {
    reading: { body },
    rawBody: JSON.stringify(body),
    rejected: (reason) => ({ number: 1, reason, text: email }),
  };
}

function runWith(chunks: AsyncIterable<SourceLine[]>, store: (emails: readonly unknown[]) => void): ImportRun {
  return {
    source: { rejectedHeader: '', chunks },
    key: { trial: false } as SiteKey,
    rules: { dedupWindowMs: 1, identifierTtlMs: 1 },
    clock: { nowMs: () => Date.parse('2026-03-01T00:00:00Z') },
    stop: new AbortController().signal,
    site: () => ({ site: { settings: {} } }) as LoadedSite,
    store: async (commands: readonly ReceiveConversion[]) => {
      store(commands.map(({ fields }) => fields.email));
      return commands.map(() => 'accepted' as const);
    },
    erased: async () => new Set(),
    rejected: undefined,
    onProgress: () => {},
  } as unknown as ImportRun;
}

describe('an import', () => {
  it('holds few long lines in memory at once', async () => {
    const windows: number[] = [];
    // A line of 1 MiB, which ends in its sixteenth chunk.
    async function* chunks() {
      for (let chunk = 1; chunk <= 320; chunk += 1) yield chunk % 16 === 0 ? [line(`${chunk}@example.com`)] : [];
    }
    const counts: ImportCounts = { accepted: 0, deduplicated: 0, filtered: 0, rejected: 0 };
    await runImport(
      runWith(chunks(), ({ length }) => windows.push(length)),
      counts,
    );
    expect(counts.accepted).toBe(20);
    expect(Math.max(...windows)).toBeLessThanOrEqual(4);
  });

  it.each([
    ['leaves out and counts', false, { accepted: 2, rejected: 0 }],
    ['rejects the line of', true, { accepted: 0, rejected: 2 }],
  ])('%s an optional field that is not valid: strict fields %s', async (_, strictFields, expected) => {
    const problem = 'externalId was shortened by a spreadsheet: export it as text';
    const rejected: string[] = [];
    async function* chunks(): AsyncGenerator<SourceLine[]> {
      const { reading, ...rest } = line('jane@example.com');
      const { body } = reading as { body: Record<string, unknown> };
      yield [{ ...rest, reading: { body, dropped: [{ field: 'externalId', problem }] } }];
      yield [{ ...rest, reading: { body: { ...body, country: 'Atlantis' } } }];
    }
    const run = {
      ...runWith(chunks(), () => {}),
      site: () => ({ site: { settings: { strictFields } } }),
      rejected: { add: async ({ reason }: { reason: string }) => void rejected.push(reason) },
    } as unknown as ImportRun;
    const counts: ImportCounts = { accepted: 0, deduplicated: 0, filtered: 0, rejected: 0 };
    const { dropped } = await runImport(run, counts);
    expect(counts).toMatchObject(expected);
    expect(rejected).toEqual(strictFields ? [problem, 'country must be an ISO 3166 alpha-2 code'] : []);
    expect(Object.fromEntries(dropped)).toEqual(strictFields ? {} : { externalId: 1, country: 1 });
  });

  it('rejects the lines of a person who was erased after they were read', async () => {
    const erased = new Set<string>();
    const stored: unknown[] = [];
    const rejected: string[] = [];
    async function* chunks() {
      yield [line('jane@example.com')];
      yield [line('john@example.com')];
      erased.add(subjectOf('jane@example.com'));
    }
    const run = {
      ...runWith(chunks(), (emails) => stored.push(...emails)),
      erased: async () => new Set(erased),
      rejected: { add: async (text: string) => void rejected.push(text) },
    } as unknown as ImportRun;
    const counts: ImportCounts = { accepted: 0, deduplicated: 0, filtered: 0, rejected: 0 };
    await runImport(run, counts);
    expect(stored).toEqual(['john@example.com']);
    expect(rejected).toMatchObject([
      { text: 'jane@example.com', reason: expect.stringMatching(/^the person was erased/) },
    ]);
    expect(counts).toMatchObject({ accepted: 1, rejected: 1 });
  });
});
