import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import { missingPackages } from '../deploy/cluster/programs.mjs';
import { missingForBroker } from '../src/kafka-broker/distribution.js';
import { readTopics } from './support/kafka.js';
import { eventually } from './support/service.js';

const READY_WITHIN_MS = 180_000;
const HEALED_WITHIN_MS = 120_000;
const STOPPED_WITHIN_MS = 90_000;
const MAIN = join(import.meta.dirname, '../deploy/cluster/main.mjs');

jest.setTimeout(READY_WITHIN_MS + STOPPED_WITHIN_MS);

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
  let main: ChildProcess;
  let printed = '';
  let exited: Promise<unknown[]>;

  const start = (directory: string) => {
    printed = '';
    main = spawn(process.execPath, [MAIN, '--data', directory], { stdio: ['ignore', 'pipe', 'pipe'] });
    exited = once(main, 'exit');
    const read = (chunk: Buffer) => {
      printed += chunk;
    };
    main.stdout?.on('data', read);
    main.stderr?.on('data', read);
  };
  const untilPrinted = (text: string) =>
    eventually(
      async () => ({ printed, exitCode: main.exitCode }),
      (state) => {
        if (state.exitCode !== null) throw new Error(`Exited with ${state.exitCode}: ${printed}`);
        return state.printed.includes(text);
      },
      { withinMs: READY_WITHIN_MS, everyMs: 100 },
    );
  /** Waits until a process of the cluster has such a command line. */
  const untilRunning = (command: RegExp) =>
    eventually(
      async () => processesOf(folder),
      (commands) => {
        if (main.exitCode !== null) throw new Error(`Exited with ${main.exitCode}: ${printed}`);
        return commands.some((text) => command.test(text));
      },
      { withinMs: READY_WITHIN_MS, everyMs: 50 },
    );

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'cc-cluster-spec-'));
    // When started by root, PostgreSQL runs as another user, which needs access to its data.
    chmodSync(folder, 0o755);
  });
  afterAll(async () => {
    if (main.exitCode === null && main.signalCode === null) {
      main.kill('SIGTERM');
      await exited;
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  describe('when everything has started', () => {
    let cells: DescribedCell[];
    let kafka: Kafka;
    let orders = 0;
    const nextOrder = () => `ORD-${++orders}`;

    beforeAll(async () => {
      start(join(folder, 'complete'));
      await untilPrinted('Stop: Ctrl-C');
      const described = JSON.parse(readFileSync(join(folder, 'complete/cluster.json'), 'utf8'));
      cells = described.cells;
      kafka = new Kafka({ brokers: described.kafka.split(','), logLevel: logLevel.NOTHING, retry: { retries: 20 } });
    });

    it('accepts a conversion in each cell, answers with a receipt and publishes it to topics of the cell', async () => {
      for (const cell of cells) {
        const orderId = nextOrder();
        expect(await post(cell, orderId)).toMatchObject({
          status: 200,
          body: { ok: true, results: { meta: { ok: true, status: 'delivered' } } },
        });
        const published = await eventually(
          () => readTopics(kafka, [`${cell.topicPrefix}conversions`]).catch(() => []),
          (records) => records.some(({ headers }) => headers['ce_type'] === 'conversion.delivered.v1'),
          { withinMs: HEALED_WITHIN_MS, everyMs: 200 },
        );
        expect(published.map(({ headers }) => [headers['ce_type'], headers['ce_source']])).toEqual(
          ['received', 'delivered'].map((type) => [
            `conversion.${type}.v1`,
            expect.stringContaining(cell.name) as unknown,
          ]),
        );
        expect(published[0]?.value).toContain(orderId);
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
      expect(await post(cell, before)).toMatchObject({ status: 200 });
      const startedAt = await startTimes(cell);
      const primary = await untilPrimary(cell);
      kill(primary.patroniPid);
      kill(Number(readFileSync(primary.postgresPidFile, 'utf8').split('\n')[0]));

      const orderId = nextOrder();
      const refused: Answer[] = [];
      await eventually(
        async () => {
          const answer = await post(cell, orderId);
          if (answer.status !== 200) refused.push(answer);
          return answer;
        },
        ({ status }) => status === 200,
        { withinMs: HEALED_WITHIN_MS, everyMs: 200 },
      );
      for (const answer of refused) expect(answer).toMatchObject({ status: 503, retryAfter: '2', body: { ok: false } });
      expect((await untilPrimary(cell)).name).not.toBe(primary.name);
      // Nothing acknowledged was lost: its dedup claim is on the new primary.
      expect(await post(cell, before)).toMatchObject({ status: 200, body: { ok: true, deduped: true } });
      expect(await startTimes(cell)).toEqual(startedAt);
      expect(await post(other, nextOrder())).toMatchObject({ status: 200 });
    });

    it('leaves no process when it is stopped with Ctrl-C', async () => {
      expect(processesOf(folder).length).toBeGreaterThan(10);
      main.kill('SIGINT');
      expect(await exited).toEqual([0, null]);
      expect(processesOf(folder)).toEqual([]);
    });
  });

  it('leaves no process when it is stopped during the start', async () => {
    start(join(folder, 'interrupted'));
    await untilRunning(/kafka\.Kafka/);
    await untilRunning(/patroni/);
    main.kill('SIGINT');
    expect(await exited).toEqual([130, null]);
    expect(processesOf(folder)).toEqual([]);
    expect(existsSync(join(folder, 'interrupted/cluster.json'))).toBe(false);
  });
});

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: unknown;
}

/** Through HAProxy. */
async function post({ inbound, apiKey }: DescribedCell, orderId: string): Promise<Answer> {
  const response = await fetch(`${inbound}/__cc/inbound`, {
    method: 'POST',
    headers: { 'x-cc-api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'jane@example.com', event: 'purchase', value: 1, orderId }),
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

async function untilPrimary({ servers }: DescribedCell): Promise<DescribedServer> {
  const primary = await eventually(
    async () => {
      for (const server of servers) {
        const response = await fetch(`${server.patroni}/primary`).catch(() => undefined);
        if (response?.status === 200) return server;
      }
      return undefined;
    },
    (server) => server !== undefined,
    { withinMs: HEALED_WITHIN_MS, everyMs: 200 },
  );
  return primary as DescribedServer;
}

async function startTimes({ instances }: DescribedCell): Promise<(string | undefined)[]> {
  const metrics = await Promise.all(
    instances.map(async ({ port }) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()),
  );
  const times = metrics.map((text) => /^cc_process_start_time_seconds (\S+)/m.exec(text)?.[1]);
  expect(times).not.toContain(undefined);
  return times;
}

/** Command lines of all processes that name the folder in their arguments or settings; zombies have neither. */
function processesOf(folder: string): string[] {
  const read = (pid: string, name: string) => {
    try {
      return readFileSync(`/proc/${pid}/${name}`, 'utf8').replaceAll('\0', ' ');
    } catch {
      return '';
    }
  };
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && (read(pid, 'cmdline') + read(pid, 'environ')).includes(folder))
    .map((pid) => read(pid, 'cmdline'));
}

function kill(pid: number): void {
  process.kill(pid, 'SIGKILL');
}
