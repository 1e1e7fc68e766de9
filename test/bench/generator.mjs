// The load generator, load.c: one in Node would use more CPU than the servers it measures.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChild } from './children.mjs';

const SOURCE = fileURLToPath(new URL('load.c', import.meta.url));

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

/** @returns the command; rejects without a C compiler */
export async function compileGenerator(directory) {
  const command = join(directory, 'load');
  await runChild('The C compiler', 'cc', ['-O2', '-o', command, SOURCE]);
  return command;
}

/** Its order id begins with the send time, from which the receiving platform computes the latency. */
const STAMPED_BODY = BODY.replace('$order', '$clock-$order');

/**
 * The arguments of one measurement: for `seconds`, or until `requests` were answered but at most for `seconds`.
 * A 200 without the text `expect` counts as an error: a deduplicated conversion, for example, costs less than a new one.
 */
export function loadArguments({ stamped, body = stamped ? STAMPED_BODY : BODY, warm = 0, ...load }) {
  const options = { ...load, warm, host: 'localhost', body };
  return Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, String(value)]));
}
