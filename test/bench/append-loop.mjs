// Appends to an event store in a closed loop and reports in the format of the HTTP load generator: "measuring" on stderr
// after the warm-up, one JSON line on stdout at the end.
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { percentile } from './figures.mjs';

/** The stored data of one conversion, about 500 bytes of JSON with its hashes. Every store appends the same. */
export const conversionData = (id) => ({
  conversionId: id,
  event: 'purchase',
  value: 129.9,
  currency: 'EUR',
  orderId: `ORD-${id}`,
  keyId: '0b9f7c3e5d1a4f6e',
  trial: false,
});

export const conversionPersonal = () => ({
  subject: 'b4c9a289323b21a01c3e940f150eb9b8c542587f1abfd8f0e1cc1ffc5e475514',
  firstName: '24d4b96f58da6d4a8512313bbd02a28ebf0ca95dec6e4c86ef78ce7f01e788ac',
  lastName: 'a8cfcd74832004951b4408cdb0a5dbcd8c7e52d43f7fe244bf720582e05241da',
  phone: '3b64db95cb55c763391c707108489ae18b4112d783300de38e033b4c98c3deaf',
});

/** @param {(id: string) => Promise<unknown>} append stores one new conversion, durably, before it resolves */
export async function driveAppends(append) {
  const { inFlight, warm, seconds } = options();
  const start = performance.now();
  const recordFrom = start + warm * 1000;
  const end = recordFrom + seconds * 1000;
  const latencies = [];
  let failures = 0;
  let cpuAtStart;
  const warmUp = setTimeout(() => {
    cpuAtStart = process.cpuUsage();
    process.stderr.write('measuring\n');
  }, warm * 1000);

  const client = async () => {
    for (let from = performance.now(); from < end; from = performance.now()) {
      try {
        await append(randomUUID());
      } catch (error) {
        if (failures++ === 0) process.stderr.write(`append failed: ${error.stack}\n`);
      }
      const to = performance.now();
      if (to >= recordFrom && to < end) latencies.push(to - from);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, client));
  clearTimeout(warmUp);
  console.log(JSON.stringify(report(latencies, seconds, failures, process.cpuUsage(cpuAtStart))));
}

function options() {
  const { values } = parseArgs({
    options: { 'in-flight': { type: 'string' }, warm: { type: 'string' }, seconds: { type: 'string' } },
  });
  return { inFlight: Number(values['in-flight']), warm: Number(values.warm), seconds: Number(values.seconds) };
}

function report(latencies, seconds, failures, cpu) {
  const sorted = Float64Array.from(latencies).sort();
  return {
    rate: sorted.length / seconds,
    requests: sorted.length,
    seconds,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    max: percentile(sorted, 1),
    failures,
    cpuSeconds: (cpu.user + cpu.system) / 1e6,
  };
}
