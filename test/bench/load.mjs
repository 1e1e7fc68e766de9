// The load generator for machines without a C compiler: the options and output of load.c, in Node, on plain sockets
// because an HTTP client would use several times as much CPU.
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { parseArgs } from 'node:util';
import { percentile } from './figures.mjs';

const FAILURES_MAX = 1000;
const names = 'port connections warm seconds requests rate path host key headers users body expect'.split(' ');
const { values } = parseArgs({ options: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) });
const number = (name, fallback) => (values[name] === undefined ? fallback : Number(values[name]));
const { path = '/', host = 'localhost', key = '', headers = '', body = '{}', expect = '' } = values;
const connections = number('connections', 64);
const requestsMax = number('requests', Number.POSITIVE_INFINITY);
const rate = number('rate', 0);

const runId = randomBytes(4).toString('hex');
const latencies = [];
const counts = { sent: 0, answered: 0, failures: 0, non200: 0, wrong: 0 };
const free = []; // open loop: idle connections
const arrivals = []; // open loop: due times that wait for an idle connection

const started = performance.now();
const recordFrom = started + number('warm', 1) * 1000;
const end = recordFrom + number('seconds', 5) * 1000;
let nextArrival = started;
let cpuAtStart = process.cpuUsage();

for (let i = 0; i < connections; i++) openConnection();
setTimeout(() => {
  cpuAtStart = process.cpuUsage();
  process.stderr.write('measuring\n');
}, recordFrom - started);
setTimeout(report, end - started);
if (rate) setInterval(sendDueArrivals, 1);

function openConnection() {
  const connection = { socket: connect(number('port'), '127.0.0.1'), received: '', start: 0 };
  connection.socket.setNoDelay(true).setEncoding('latin1');
  connection.socket.on('connect', () => release(connection));
  connection.socket.on('data', (text) => onData(connection, text));
  connection.socket.on('error', () => {});
  connection.socket.on('close', () => {
    if (++counts.failures > FAILURES_MAX) fail(`${FAILURES_MAX} connections were closed before an answer`);
    openConnection();
  });
}

function release(connection) {
  if (counts.sent >= requestsMax) {
    if (counts.answered + counts.failures >= counts.sent) report();
  } else if (rate) free.push(connection);
  else send(connection, performance.now());
}

function sendDueArrivals() {
  for (; nextArrival <= performance.now(); nextArrival += 1000 / rate) arrivals.push(nextArrival);
  while (arrivals.length > 0 && free.length > 0 && counts.sent < requestsMax) send(free.pop(), arrivals.shift());
}

function send(connection, start) {
  const order = `ORD-${randomBytes(4).toString('hex')}${runId}${String(counts.sent).padStart(8, '0')}`;
  const filled = body
    .replace('$order', order)
    .replace('$user', String(1 + Math.floor(Math.random() * number('users', 1e6))))
    .replace('$clock', (Number(process.hrtime.bigint()) / 1e6).toFixed(3));
  connection.start = start;
  counts.sent += 1;
  connection.socket.write(
    `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nX-CC-Api-Key: ${key}\r\n` +
      `${headers}Content-Length: ${Buffer.byteLength(filled)}\r\n\r\n${filled}`,
  );
}

function onData(connection, text) {
  connection.received += text;
  const headEnd = connection.received.indexOf('\r\n\r\n');
  if (headEnd < 0) return;
  const isEmpty = connection.received.startsWith('204', 'HTTP/1.1 '.length);
  const length = isEmpty ? 0 : /content-length: *(\d+)/i.exec(connection.received.slice(0, headEnd))?.[1];
  if (length === undefined) fail(`reply without Content-Length: ${connection.received.slice(0, 80)}`);
  if (connection.received.length < headEnd + 4 + Number(length)) return;
  const now = performance.now();
  count(connection.received);
  connection.received = '';
  if (now >= recordFrom && now < end) latencies.push(now - connection.start);
  release(connection);
}

function count(reply) {
  counts.answered += 1;
  const is200 = reply.startsWith('20', 'HTTP/1.1 '.length);
  if (is200 && reply.includes(expect)) return;
  if (counts.non200 + counts.wrong === 0) process.stderr.write(`unexpected reply: ${reply.slice(0, 400)}\n`);
  if (is200) counts.wrong += 1;
  else counts.non200 += 1;
}

function report() {
  const seconds = (performance.now() - recordFrom) / 1000;
  const sorted = Float64Array.from(latencies).sort();
  const cpu = process.cpuUsage(cpuAtStart);
  const at = (p) => Number(percentile(sorted, p).toFixed(3));
  console.log(
    JSON.stringify({
      rate: sorted.length / seconds,
      requests: sorted.length,
      seconds,
      ...counts,
      ...{ p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999), max: at(1) },
      backlog: arrivals.length,
      clientCpuSeconds: (cpu.user + cpu.system) / 1e6,
    }),
  );
  process.exit(0);
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
