// A customer's receiver that also knows which of several processes a call came from: by the socket's inode, as Linux
// tells it. It answers 200, slowly and in every order, and now and then 500.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const SLOWEST_MS = 150;

/** @param pids tells the processes that may call, at any time */
export async function startTracingReceiver(pids, { failing = 0.05 } = {}) {
  const calls = [];
  const senders = new WeakMap();
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    const { headers, socket, url } = request;
    const call = {
      site: url.slice(1),
      pid: senders.get(socket),
      id: headers['webhook-id'],
      from: Number(headers['x-cc-from-position']),
      to: Number(headers['x-cc-to-position']),
      body,
      at: Date.now(),
      taken: Math.random() >= failing,
    };
    calls.push(call);
    await sleep(Math.random() * SLOWEST_MS);
    response.writeHead(call.taken ? 200 : 500).end();
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
  // Both ends: on a busy machine the same port also leads from somebody else to somewhere else.
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
