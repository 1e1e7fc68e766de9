// The load generator: load.c where it compiles, otherwise load.mjs, which has the same options but uses more CPU than the
// servers it measures. The report then contains a warning.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChild } from './children.mjs';

const here = (file) => fileURLToPath(new URL(file, import.meta.url));

/** An inbound conversion with all fields. The generator fills in a new order id each time. */
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

/** Its order id begins with the send time, from which the receiving platform computes the latency. */
const STAMPED_BODY = BODY.replace('$order', '$clock-$order');

/**
 * The arguments of one measurement: for `seconds`, or until `requests` were answered but at most for `seconds`.
 * A 200 without the text `expect` counts as an error: a deduplicated conversion, for example, costs less than a new one.
 */
export function loadArguments({ stamped, body = stamped ? STAMPED_BODY : BODY, warm = 0, ...load }) {
  const { port, path, key, headers, users, connections, seconds, requests, rate, expect } = load;
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
