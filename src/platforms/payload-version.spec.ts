import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { PLATFORM_CASES } from '../../test/support/platform-cases.js';
import { SAMPLE_CONVERSIONS } from '../../test/support/sample-conversions.js';

/** By connection and sample conversion: the digest of the payload, or why it is skipped. */
type Digests = Readonly<Record<string, Readonly<Record<keyof typeof SAMPLE_CONVERSIONS, string>>>>;

const CASES = [1, 2, 3].flatMap((version) => {
  const digests = JSON.parse(readFileSync(`test/fixtures/payloads-${version}.json`, 'utf8')) as Digests;
  return Object.entries(digests).map(([name, samples]) => [version, name, samples] as const);
});

/** A delivery deferred by an earlier build fails if this one builds other bytes. */
describe.each(CASES)('payloads of version %i: %s', (payloadVersion, name, samples) => {
  const found = PLATFORM_CASES.find((candidate) => candidate.name === name);

  it.each(Object.entries(samples))('%s stays the same, byte for byte', (sample, expected) => {
    const { platform, connection } = found as NonNullable<typeof found>;
    const conversion = SAMPLE_CONVERSIONS[sample as keyof typeof SAMPLE_CONVERSIONS];
    const payload = platform.payload({ ...conversion, payloadVersion }, connection.settings);
    expect('skip' in payload ? payload.skip : hash('sha256', JSON.stringify(payload.item))).toBe(expected);
  });
});
