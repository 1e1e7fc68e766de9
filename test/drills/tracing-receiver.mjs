// A webhook receiver that records which process sent each call, by looking up the socket's inode in /proc (Linux only). It
// answers 200 after a random delay, and sometimes 500.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const DELAY_MAX_MS = 150;

/**
 * @param pids returns the ids of the processes that may currently call
 * @param random source of failures and delays, as Math.random
 */
export async function startTracingReceiver(pids, random, { failureRate = 0.05 } = {}) {
  const calls = [];
  const senders = new WeakMap();
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { headers, socket, url } = request;
    const call = {
      site: url.slice(1),
      pid: senders.get(socket),
      id: headers['webhook-id'],
      from: Number(headers['x-cc-from-position']),
      to: Number(headers['x-cc-to-position']),
      body,
      at: Date.now(),
      acknowledged: random() >= failureRate,
    };
    calls.push(call);
    await sleep(random() * DELAY_MAX_MS);
    response.writeHead(call.acknowledged ? 200 : 500).end();
  });
  server.on('connection', (socket) => senders.set(socket, ownerOf(socket, pids())));
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const stop = () =>
    new Promise((stopped) => {
      server.close(stopped);
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${server.address().port}`, calls, stop };
}

function ownerOf({ remotePort, localPort }, pids) {
  const hex = (port) => `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  // Match both ports: on a busy machine the same local port is also used by connections to other destinations.
  const line = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((text) => text.trim().split(/\s+/))
    .find(([, local, remote]) => local?.endsWith(hex(remotePort)) && remote?.endsWith(hex(localPort)));
  const socket = `socket:[${line?.[9]}]`;
  return pids.find((pid) => socketsOf(pid).includes(socket));
}

function socketsOf(pid) {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`);
      } catch {
        return '';
      }
    });
  } catch {
    return [];
  }
}
