// The product's sandbox as a separate process: all platforms on one port, with configurable delays.
import { join } from 'node:path';
import { startChild, untilReady } from './children.mjs';
import { freePort, ROOT } from './service.mjs';

/** Without ids: storing every event id would distort the CPU figures. */
export async function startSandbox() {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = [join(ROOT, 'dist/sandbox/main.js'), '--port', String(port), '--no-ids'];
  const child = startChild('the sandbox', process.execPath, args);
  await untilReady(child, url);
  return { url, pid: child.pid };
}

/** Runs `work` while these platforms answer after a delay of `ms`. */
export async function whileSlow(sandbox, platforms, ms, work) {
  for (const platform of platforms) await setBehaviour(sandbox, { platform, mode: 'slow', ms });
  try {
    return await work();
  } finally {
    for (const platform of platforms) await setBehaviour(sandbox, { platform, mode: 'ok' });
  }
}

/** The problems that the sandbox found in requests, as `platform: problem`. */
export async function reportedProblems(sandbox) {
  const response = await fetch(`${sandbox.url}/ledger?ids=no`);
  const { recent, ...platforms } = await response.json();
  return Object.entries(platforms).flatMap(([platform, tenants]) =>
    Object.values(tenants).flatMap(({ problemKinds }) =>
      Object.entries(problemKinds).map(([problem, times]) => `${platform}: ${problem} (${times} times)`),
    ),
  );
}

async function setBehaviour(sandbox, behaviour) {
  const response = await fetch(`${sandbox.url}/behave`, { method: 'POST', body: JSON.stringify(behaviour) });
  const answer = await response.text();
  if (!response.ok) throw new Error(`the sandbox rejected ${JSON.stringify(behaviour)}: ${answer}`);
}
