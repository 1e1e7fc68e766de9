import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { batchDigest, CHAIN_START, chainHead, eventDigest } from '../src/log/audit/seals.js';

const SCRIPT = fileURLToPath(new URL('../docs/verify-chain.mjs', import.meta.url));

interface Exported {
  readonly position: number;
  readonly [field: string]: unknown;
}

function eventAt(position: number): Exported {
  return {
    ...{ position, id: `00000000-0000-7000-8000-${String(position).padStart(12, '0')}`, type: 'thing.happened.v1' },
    ...{
      stream: `thing-00000000-0000-7000-8000-${String(position).padStart(12, '0')}`,
      version: 1,
      site: 'shop.example',
    },
    ...{ time: '2026-11-17T10:00:00.000Z', actor: 'system', data: { position }, personal: null },
  };
}

/** As `history seals` prints them. */
function sealsOf(batches: readonly (readonly Exported[])[]): object[] {
  let head = CHAIN_START;
  return batches.map((events) => {
    const covered = events.map(({ position, id, type, stream, version, site, time, actor, data }) => ({
      position,
      digest: eventDigest({
        ...{ position, id: id as string, category: 'thing', stream: (stream as string).slice('thing-'.length) },
        ...{ version: version as number, type: type as string, site: site as string, actor: actor as string },
        ...{
          timeMs: Date.parse(time as string),
          reference: null,
          data: JSON.stringify(data),
          personal: null,
          origin: null,
        },
      }),
    }));
    const digest = batchDigest(covered.map((event) => event.digest));
    head = chainHead(head, digest);
    const [first, last] = [events[0]?.position, events.at(-1)?.position];
    return { first, last, count: events.length, digest, head, events: covered };
  });
}

describe('docs/verify-chain.mjs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cc-verify-chain-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const [one, two, three, four] = [1, 2, 3, 4].map(eventAt) as [Exported, Exported, Exported, Exported];
  const seals = sealsOf([[one], [two, three], [four]]);

  function verify(events: readonly object[], sealed: readonly object[] = seals) {
    const write = (name: string, lines: readonly object[]) => {
      const file = join(folder, name);
      writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
      return file;
    };
    const files = [write('events.ndjson', events), write('seals.ndjson', sealed)];
    const { status, stdout } = spawnSync(process.execPath, [SCRIPT, ...files], { encoding: 'utf8' });
    return { status, violations: stdout.split('\n').filter((line) => line.startsWith('VIOLATION: ')) };
  }

  it('accepts an export, also if events were appended before the seals were exported', () => {
    expect(verify([one, two, three, four])).toEqual({ status: 0, violations: [] });
    expect(verify([one, two, three])).toEqual({ status: 0, violations: [] });
  });

  it('finds an event that was changed', () => {
    const changed = verify([one, two, { ...three, data: {} }, four]);
    expect(changed).toEqual({ status: 1, violations: ['VIOLATION: positions 2 to 3 differ from their seal'] });
  });

  it('takes the digest of an event from the seals if exports omit some of its data, and of no other', () => {
    const redacted = (type: string) => {
      const stored = { ...two, type, data: { status: 'delivered', bodySha256: 'ab'.repeat(32) } };
      const marked = JSON.parse(JSON.stringify(sealsOf([[one], [stored, three]])));
      marked[1].events[0].redacted = true;
      return verify([one, { ...stored, data: { status: 'delivered' } }, three], marked);
    };
    expect(redacted('conversion.delivered.v1')).toEqual({ status: 0, violations: [] });
    expect(redacted('conversion.received.v1')).toMatchObject({ status: 1 });
  });

  it('finds an event that is missing in the export, and one that was added to it', () => {
    expect(verify([one, three, four])).toEqual({
      status: 1,
      violations: [expect.stringMatching(/position 2 is missing in /)],
    });
    expect(verify([one, two, three, four, eventAt(5)])).toEqual({
      status: 1,
      violations: ['VIOLATION: position 5 has no seal'],
    });
  });
});
