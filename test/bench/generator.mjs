// The load generator: load.c where it compiles, otherwise load.mjs, which takes the same options but costs more than the
// servers it measures; the table then says so.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChild } from './children.mjs';

const here = (file) => fileURLToPath(new URL(file, import.meta.url));

/** The full body of an inbound conversion; the generator makes every order new. */
export const BODY = JSON.stringify({
  email: 'User$user@Example.com',
  event: 'purchase',
  value: 129.9,
  currency: 'EUR',
  orderId: '$order',
  firstName: 'Ana',
  lastName: 'Kovac',
  phone: '+385 91 123 4567',
});

export async function prepareGenerator(directory) {
  const binary = join(directory, 'load');
  try {
    await runChild('cc', 'cc', ['-O2', '-o', binary, here('load.c')]);
    return { command: binary, args: [], language: 'C' };
  } catch (error) {
    return { command: process.execPath, args: [here('load.mjs')], language: 'Node', reason: error.message };
  }
}

/** The same, with the time it was sent in front of the order's number: whoever gets it can tell how long it was under way. */
const STAMPED_BODY = BODY.replace('$order', '$clock-$order');

/**
 * Arguments for one stretch of load. Either for `seconds`, or until `requests` were answered, `seconds` at most.
 * `expect` is a text without which a 200 is an error: a deduplicated conversion, say, costs less than a new one.
 */
export function loadArguments({ stamped, body = stamped ? STAMPED_BODY : BODY, warm = 0, ...stretch }) {
  const { port, path, key, headers, users, connections, seconds, requests, rate, expect } = stretch;
  const options = {
    port,
    path,
    key,
    headers,
    users,
    connections,
    warm,
    seconds,
    requests,
    rate,
    expect,
    host: 'localhost',
    body,
  };
  return Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, String(value)]));
}
