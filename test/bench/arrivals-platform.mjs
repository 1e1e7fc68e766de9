// A platform that does nothing but look at the clock: it speaks Segment's protocol and knows from a stamped order (see
// generator.mjs) how long each conversion was under way. `GET /` hands over what it has noted, and begins anew.
import { createServer } from 'node:http';

const TAKEN = '{"success":true}';
let underWay = [];

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = request.method === 'POST' ? take(Buffer.concat(chunks).toString(), clockMs()) : handOver();
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
    response.end(body);
  });
});

/** Of the monotonic clock, as the generator's. */
function clockMs() {
  return Number(process.hrtime.bigint()) / 1e6;
}

function take(text, now) {
  const call = JSON.parse(text);
  for (const event of call.batch ?? [call]) {
    const sent = Number.parseFloat(event.properties.order_id);
    // Others than the generator's are not stamped.
    if (!Number.isNaN(sent)) underWay.push(now - sent);
  }
  return TAKEN;
}

function handOver() {
  const noted = JSON.stringify(underWay);
  underWay = [];
  return noted;
}

server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('ready'));
process.once('SIGTERM', () => process.exit(0));
