import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, 'shipped');

/** Names of the definitions that are a part of the product. */
export function shippedNames(): string[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.replace(/\.yaml$/, ''))
    .sort();
}

/** Undefined if none of that name is shipped. */
export function shippedDefinition(name: string): string | undefined {
  return shippedNames().includes(name) ? readFileSync(join(FOLDER, `${name}.yaml`), 'utf8') : undefined;
}
