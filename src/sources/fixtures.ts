import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A delivery as the sender documents it, and the conversion that it becomes. */
export interface Fixture {
  /** The public page that its fields and values are from. */
  readonly documentation: string;
  readonly topic: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly conversion: Readonly<Record<string, unknown>>;
  /** The body as it is sent. */
  readonly raw: string;
}

export function fixtureNames(source: string): string[] {
  const folder = folderOf(source);
  return existsSync(folder) ? readdirSync(folder).map((file) => file.replace(/\.json$/, '')) : [];
}

/** Undefined if the source has no such fixture. */
export function readFixture(source: string, name: string): Fixture | undefined {
  if (!fixtureNames(source).includes(name)) return undefined;
  const text = readFileSync(join(folderOf(source), `${name}.json`), 'utf8');
  // JSON.parse rounds ids beyond 2^53, so the body is cut out of the text.
  const raw = text.slice(text.indexOf('"body": ') + 8, text.lastIndexOf(',\n  "conversion"'));
  return { ...(JSON.parse(text) as Omit<Fixture, 'raw'>), raw };
}

/** A documented body with ids of its own, so that neither the order nor the delivery is known. */
export function renumbered({ raw, body, conversion }: Fixture, number: number): string {
  const ids = [conversion['orderId'], body['id'], body['messageId']].filter((each) => typeof each === 'string');
  return ids.reduce((text, id) => text.replaceAll(id, /^\d+$/.test(id) ? String(number) : `${id}${number}`), raw);
}

function folderOf(source: string): string {
  return join(import.meta.dirname, source, 'fixtures');
}
