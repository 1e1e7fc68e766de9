import type { Platform } from '../../src/platforms/platform.js';

/** Each field takes the one value, and says what it wants instead of the other, without repeating it. */
export function itChecksFields(
  platform: Platform,
  ...values: readonly (readonly [name: string, good: string, bad: string])[]
): void {
  it.each(values)('%s takes %s, not %j', (name, good, bad) => {
    const check = platform.fields.find((field) => field.name === name)?.check;
    expect(check?.(good)).toBeUndefined();
    expect(check?.(bad)).toMatch(/^must /);
    // A single character may well stand in any sentence.
    if (bad.trim().length > 1) expect(check?.(bad)).not.toContain(bad);
  });
}

export function fieldsThatAre(property: 'secret' | 'required', { fields }: Platform): string[] {
  return fields.filter((field) => field[property]).map(({ name }) => name);
}
