import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { jest } from '@jest/globals';
import { leftOutPeers, leftOutText, PEERS } from './bench/peer-sources.mjs';
import { runtimeRows } from './bench/runtimes.mjs';

const peer = { name: 'Outpost', module: 'github.com/hookdeck/outpost' };

describe('npm run bench -- --peers', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('says of each peer that it was left out when Go is not installed', async () => {
    jest.replaceProperty(process, 'env', { ...process.env, PATH: '' });

    const lines = await leftOutPeers({ directory: tmpdir(), progress: () => {} });

    expect(lines).toEqual(
      PEERS.map(({ name, module }) => `${name} was left out: Go is not installed; install it to look for ${module}`),
    );
  });

  it('names the answer of a proxy that refuses the module, but not the proxy', () => {
    const error =
      `go failed: go: module ${peer.module}: reading https://proxy.example/${peer.module}/@v/list: 403 Forbidden | ` +
      '\tserver response: This module version is not available.';

    expect(leftOutText(peer, { error })).toBe(
      `Outpost was left out: the Go proxy answered 403 Forbidden for ${peer.module}`,
    );
  });

  it('gives the reason of Go when the proxy cannot be reached, without addresses', () => {
    const error = `go failed: go: module ${peer.module}: Get "https://proxy.example/${peer.module}/@v/list": connection refused`;

    expect(leftOutText(peer, { error })).toBe(
      `Outpost was left out: ${peer.module} could not be had from the Go proxy: ` +
        `go failed: go: module ${peer.module}: Get "…": connection refused`,
    );
  });

  it('does not claim to have measured a peer whose sources can be had', () => {
    expect(leftOutText(peer, { version: 'v1.2.3' })).toBe(
      `Outpost was left out: ${peer.module} v1.2.3 can be had, but this benchmark does not build and start it yet`,
    );
  });
});

describe('npm run bench -- --nodes', () => {
  it('compares every runtime with the echo of the first one, round by round', () => {
    const sample = (rate: number, cpuServer: number, cpuPostgres?: number) => ({
      rate,
      cpuServer,
      errors: 0,
      ...(cpuPostgres !== undefined && { cpuPostgres }),
    });
    const samples = {
      'echo 20 @64': [sample(1_000, 20)],
      'inbound 20 @64': [sample(200, 60, 40)],
      'echo 24 @64': [sample(1_200, 15)],
      'inbound 24 @64': [sample(250, 45, 35)],
    };
    const runtimes = ['20', '24'].map((version) => ({ version, node: 'node' }));

    const rows = runtimeRows(runtimes, 64, samples).map(({ what, value }) => [what, value?.median]);

    expect(rows).toEqual([
      ['raw node:http echo, Node 20, 64 connections: rate, ratio to the echo', 1],
      ['inbound, durable, Node 20, 64 connections: rate, ratio to the echo', 0.2],
      ['↳ CPU of service + PostgreSQL, in echoes', 5],
      ['raw node:http echo, Node 24, 64 connections: rate, ratio to the echo', 1.2],
      ['inbound, durable, Node 24, 64 connections: rate, ratio to the echo', 0.25],
      ['↳ CPU of service + PostgreSQL, in echoes', 4],
      ['↳ CPU of service + PostgreSQL: ratio to Node 20', 0.8],
    ]);
  });

  it.each([
    [['--nodes', 'newest'], '--nodes takes versions with commas between them, as in --nodes 24,26.'],
    [['--nodes', '24', '--grow'], '--nodes and --peers are a part of their own: leave out the other parts.'],
    [['--peers', '--platforms'], '--nodes and --peers are a part of their own: leave out the other parts.'],
  ])('refuses %j before anything is started', (options, message) => {
    const script = fileURLToPath(new URL('./bench/run.mjs', import.meta.url));

    const { status, stderr } = spawnSync(process.execPath, [script, ...options], { encoding: 'utf8' });

    expect({ status, stderr: stderr.trim() }).toEqual({ status: 2, stderr: message });
  });
});
