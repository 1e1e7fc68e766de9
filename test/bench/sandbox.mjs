// The product's own sandbox as a process of its own: all platforms at one address, quick or slow as it is told.
import { join } from 'node:path';
import { answers, startChild } from './children.mjs';
import { freePort, ROOT } from './service.mjs';

/** Counters only: to remember every event's id would be measured with the rest. */
export async function startSandbox() {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = [join(ROOT, 'dist/sandbox/main.js'), '--port', String(port), '--no-ids'];
  const child = startChild('the sandbox', process.execPath, args);
  await answers(child, url);
  return { url, pid: child.pid };
}

/** Does `work` while these platforms answer only after so many milliseconds. */
export async function whileSlow(sandbox, platforms, ms, work) {
  for (const platform of platforms) await tell(sandbox, { platform, mode: 'slow', ms });
  try {
    return await work();
  } finally {
    for (const platform of platforms) await tell(sandbox, { platform, mode: 'ok' });
  }
}

/** What it found wrong with what it was sent, as `platform: problem`. */
export async function problemsSeen(sandbox) {
  const response = await fetch(`${sandbox.url}/ledger?ids=no`);
  const { recent, ...platforms } = await response.json();
  return Object.entries(platforms).flatMap(([platform, tenants]) =>
    Object.values(tenants).flatMap(({ problemKinds }) =>
      Object.entries(problemKinds).map(([problem, times]) => `${platform}: ${problem} (${times} times)`),
    ),
  );
}

async function tell(sandbox, order) {
  const response = await fetch(`${sandbox.url}/behave`, { method: 'POST', body: JSON.stringify(order) });
  const said = await response.text();
  if (!response.ok) throw new Error(`the sandbox refused ${JSON.stringify(order)}: ${said}`);
}
