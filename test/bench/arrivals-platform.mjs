// A platform with Segment's protocol that only measures latency: the order id contains the send time (see generator.mjs).
// `GET /` returns the latencies recorded since the last call and clears them.
import { createServer } from 'node:http';

const SUCCESS = '{"success":true}';
let latencies = [];

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = request.method === 'POST' ? record(Buffer.concat(chunks).toString(), clockMs()) : takeLatencies();
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
    response.end(body);
  });
});

/** The monotonic clock, which the generator uses as well. */
function clockMs() {
  return Number(process.hrtime.bigint()) / 1e6;
}

function record(text, now) {
  const call = JSON.parse(text);
  for (const event of call.batch ?? [call]) {
    const sent = Number.parseFloat(event.properties.order_id);
    // Only the generator's order ids contain a time.
    if (!Number.isNaN(sent)) latencies.push(now - sent);
  }
  return SUCCESS;
}

function takeLatencies() {
  const recorded = JSON.stringify(latencies);
  latencies = [];
  return recorded;
}

server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('ready'));
process.once('SIGTERM', () => process.exit(0));
