import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import { missingPackages } from '../deploy/cluster/programs.mjs';
import { missingForBroker } from '../src/kafka-broker/distribution.js';
import { temporaryFolder } from './support/folders.js';
import { readTopics } from './support/kafka.js';
import { eventually } from './support/waiting.js';

// Half a minute is usual. The limits are for a machine with few and busy cores, which starts some thirty processes.
const READY_WITHIN_MS = 900_000;
const HEALED_WITHIN_MS = 300_000;
const STOPPED_WITHIN_MS = 300_000;
/** HAProxy answers within 60 s. */
const ANSWERED_WITHIN_MS = 120_000;
const MAIN = join(import.meta.dirname, '../deploy/cluster/main.mjs');

// Longer than the waits of any test, each of which says what it waited for.
jest.setTimeout(READY_WITHIN_MS + 4 * HEALED_WITHIN_MS + STOPPED_WITHIN_MS);

interface DescribedCell {
  readonly name: string;
  readonly inbound: string;
  readonly dashboard: string;
  readonly apiKey: string;
  readonly topicPrefix: string;
  readonly instances: readonly { readonly name: string; readonly port: number }[];
  readonly servers: readonly DescribedServer[];
}

interface DescribedServer {
  readonly name: string;
  readonly patroni: string;
  readonly patroniPid: number;
  readonly postgresPidFile: string;
}

(missingPackages().length > 0 || missingForBroker() ? describe.skip : describe)('npm run cluster', () => {
  let folder: string;
  let main: ChildProcess | undefined;
  let printed = '';

  const start = async (directory: string) => {
    // One that a failed test has left would take the machine from the next one.
    await end();
    printed = '';
    main = spawn(process.execPath, [MAIN, '--data', directory], { stdio: ['ignore', 'pipe', 'pipe'] });
    const read = (chunk: Buffer) => {
      printed += chunk;
    };
    main.stdout?.on('data', read);
    main.stderr?.on('data', read);
  };
  /** How the command ended, and what it printed. */
  const state = () => ({ exitCode: main?.exitCode, signalCode: main?.signalCode, printed });
  const hasExited = () => main === undefined || main.exitCode !== null || main.signalCode !== null;
  const untilExited = () => eventually(async () => state(), hasExited, { withinMs: STOPPED_WITHIN_MS, everyMs: 50 });
  /** Never fails, and leaves nothing: what has not stopped by then is killed. */
  const end = async () => {
    if (!hasExited()) {
      main?.kill('SIGTERM');
      await untilExited().catch(() => {});
    }
    for (const { pid } of processesOf(folder)) kill(pid);
    await eventually(
      async () => processesOf(folder),
      (left) => left.length === 0,
      { withinMs: STOPPED_WITHIN_MS, everyMs: 50 },
    ).catch(() => {});
  };
  const requireRunning = () => {
    if (hasExited()) throw new Error(`The cluster exited: ${JSON.stringify(state())}`);
  };
  const untilPrinted = (text: string) =>
    eventually(
      async () => state(),
      () => {
        requireRunning();
        return printed.includes(text);
      },
      { withinMs: READY_WITHIN_MS, everyMs: 100 },
    );
  /** Waits until a process of the cluster has such a command line. */
  const untilRunning = (command: RegExp) =>
    eventually(
      async () => processesOf(folder),
      (processes) => {
        requireRunning();
        return processes.some((running) => command.test(running.command));
      },
      { withinMs: READY_WITHIN_MS, everyMs: 50 },
    );

  beforeAll(() => {
    folder = temporaryFolder('cc-cluster-spec-');
  });
  afterAll(async () => {
    await end();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  describe('when everything has started', () => {
    let cells: DescribedCell[];
    let kafka: Kafka;
    let orders = 0;
    const nextOrder = () => `ORD-${++orders}`;

    beforeAll(async () => {
      await start(join(folder, 'complete'));
      await untilPrinted('Stop: Ctrl-C');
      const described = JSON.parse(readFileSync(join(folder, 'complete/cluster.json'), 'utf8'));
      cells = described.cells;
      kafka = new Kafka({ brokers: described.kafka.split(','), logLevel: logLevel.NOTHING, retry: { retries: 20 } });
    });

    it('accepts a conversion in each cell, answers with a receipt and publishes it to topics of the cell', async () => {
      for (const cell of cells) {
        const orderId = nextOrder();
        // The receipt says delivered or, if that takes longer than the request may, queued.
        expect(await untilAccepted(cell, orderId)).toMatchObject({ body: { ok: true } });
        const published = await eventually(
          () => readTopics(kafka, [`${cell.topicPrefix}conversions`]).catch(() => []),
          (records) => records.some(({ headers }) => headers['ce_type'] === 'conversion.delivered.v1'),
          { withinMs: HEALED_WITHIN_MS, everyMs: 200 },
        );
        const received = published.filter(({ headers }) => headers['ce_type'] === 'conversion.received.v1');
        expect(received.map(({ value }) => value)).toEqual([expect.stringContaining(orderId)]);
        for (const { headers } of published) expect(headers['ce_source']).toContain(cell.name);
      }
    });

    it('leads to the dashboard of each cell', async () => {
      for (const { inbound, dashboard } of cells) {
        expect(printed).toContain(dashboard);
        const { host, port } = new URL(dashboard);
        // fetch() sets the Host header itself, and not every resolver knows names below localhost.
        const answer = await eventually(
          () => requestWithHost(Number(port), host),
          (text) => text.startsWith('HTTP/1.1 200'),
          { withinMs: HEALED_WITHIN_MS, everyMs: 200 },
        );
        expect(answer).toMatch(/<!doctype html>/i);
        expect(printed).toContain(`curl ${inbound}/__cc/inbound`);
      }
    });

    it('continues on the standby when the primary is killed, and restarts no instance', async () => {
      const [cell, other] = cells as [DescribedCell, DescribedCell];
      const before = nextOrder();
      await untilAccepted(cell, before);
      const startedAt = await startTimes(cell);
      const primary = await untilReplicated(cell);
      kill(primary.patroniPid);
      kill(Number(readFileSync(primary.postgresPidFile, 'utf8').split('\n')[0]));

      const orderId = nextOrder();
      const refused: Answer[] = [];
      await untilAccepted(cell, orderId, (answer) => refused.push(answer));
      for (const answer of refused) expect(answer).toMatchObject({ status: 503, retryAfter: '2', body: { ok: false } });
      expect((await untilPrimary(cell)).name).not.toBe(primary.name);
      // Nothing acknowledged was lost: its dedup claim is on the new primary.
      expect(await untilAccepted(cell, before)).toMatchObject({ body: { ok: true, deduped: true } });
      expect(await startTimes(cell)).toEqual(startedAt);
      await untilAccepted(other, nextOrder());
    });

    it('leaves no process when it is stopped with Ctrl-C', async () => {
      expect(processesOf(folder).length).toBeGreaterThan(10);
      main?.kill('SIGINT');
      expect(await untilExited()).toMatchObject({ exitCode: 0 });
      expect(processesOf(folder)).toEqual([]);
    });
  });

  it.each([
    // The first process of a broker formats its folder. On a busy machine it may have ended before it is seen.
    ['formatting', [/kafka\.tools\.StorageTool|kafka\.Kafka/]],
    ['starting', [/kafka\.Kafka/, /patroni/]],
  ])('leaves no process when it is stopped while brokers are %s', async (name, commands) => {
    const directory = join(folder, name);
    await start(directory);
    for (const command of commands) await untilRunning(command);
    main?.kill('SIGINT');
    expect(await untilExited()).toMatchObject({ exitCode: 130 });
    expect(processesOf(folder)).toEqual([]);
    expect(existsSync(join(directory, 'cluster.json'))).toBe(false);
  });
});

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: unknown;
}

/** Sends it until it is accepted, as senders do: on a busy machine a cell may be without a primary for a moment at any time. */
async function untilAccepted(cell: DescribedCell, orderId: string, onRefused: (answer: Answer) => void = () => {}) {
  return eventually(
    async () => {
      const answer = await post(cell, orderId);
      if (answer.status !== 200) onRefused(answer);
      return answer;
    },
    { status: 200 },
    { withinMs: HEALED_WITHIN_MS, everyMs: 200 },
  );
}

/** Through HAProxy. */
async function post({ inbound, apiKey }: DescribedCell, orderId: string): Promise<Answer> {
  const response = await fetch(`${inbound}/__cc/inbound`, {
    method: 'POST',
    headers: { 'x-cc-api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'jane@example.com', event: 'purchase', value: 1, orderId }),
    signal: AbortSignal.timeout(ANSWERED_WITHIN_MS),
  });
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body: await response.json() };
}

/** The first lines and the page that a browser gets under this name. */
async function requestWithHost(port: number, host: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.end(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  let text = '';
  for await (const chunk of socket) text += chunk;
  return text;
}

/** The primary that Patroni names. */
async function untilPrimary({ servers }: DescribedCell): Promise<DescribedServer> {
  return untilOne(servers, '/primary');
}

/** The primary, when it has a synchronous standby: Patroni promotes no other one. */
async function untilReplicated({ servers }: DescribedCell): Promise<DescribedServer> {
  await untilOne(servers, '/synchronous');
  return untilOne(servers, '/primary');
}

/** The server whose Patroni answers with 200. */
async function untilOne(servers: readonly DescribedServer[], path: string): Promise<DescribedServer> {
  const found = await eventually(
    async () => {
      for (const server of servers) {
        const signal = AbortSignal.timeout(ANSWERED_WITHIN_MS);
        const response = await fetch(`${server.patroni}${path}`, { signal }).catch(() => undefined);
        if (response?.status === 200) return server;
      }
      return undefined;
    },
    (server) => server !== undefined,
    { withinMs: HEALED_WITHIN_MS, everyMs: 200 },
  );
  return found as DescribedServer;
}

async function startTimes({ instances }: DescribedCell): Promise<(string | undefined)[]> {
  const metrics = await Promise.all(
    instances.map(async ({ port }) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()),
  );
  const times = metrics.map((text) => /^cc_process_start_time_seconds (\S+)/m.exec(text)?.[1]);
  expect(times).not.toContain(undefined);
  return times;
}

interface Running {
  readonly pid: number;
  readonly command: string;
}

/** All processes that name the folder in their arguments or settings; zombies have neither. */
function processesOf(folder: string): Running[] {
  const read = (pid: string, name: string) => {
    try {
      return readFileSync(`/proc/${pid}/${name}`, 'utf8').replaceAll('\0', ' ');
    } catch {
      return '';
    }
  };
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && (read(pid, 'cmdline') + read(pid, 'environ')).includes(folder))
    .map((pid) => ({ pid: Number(pid), command: read(pid, 'cmdline') }));
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has exited.
  }
}
