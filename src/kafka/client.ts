import { promisify } from 'node:util';
import { gunzip, gzip, type ZlibOptions } from 'node:zlib';
import kafkajs, { CompressionTypes, Kafka, logLevel } from 'kafkajs';
import type { Logger } from '../kernel/logger.js';
import type { KafkaSettings } from './kafka-settings.js';
import { replaceRecordEncoder } from './record-encoder.js';
import { stopIdleQueueChecks } from './request-queue.js';

// The default gzip level of kafkajs takes twice the CPU time to save three per cent of the bytes.
const [zip, unzip] = [promisify<Buffer, ZlibOptions, Buffer>(gzip), promisify<Buffer, Buffer>(gunzip)];
kafkajs.CompressionCodecs[CompressionTypes.GZIP] = () => ({
  compress: ({ buffer }: { buffer: Buffer }) => zip(buffer, { level: 3 }),
  decompress: unzip,
});

replaceRecordEncoder();
stopIdleQueueChecks();

/**
 * Clients are cheap and are discarded after any failure: kafkajs does not report reliably which messages the broker has
 * stored. Its own retries only bridge short interruptions, such as a coordinator that is still loading.
 */
export function makeClient(settings: KafkaSettings, logger?: Pick<Logger, 'debug'>): Kafka {
  return new Kafka({
    clientId: `clean-conversions-${settings.cell}`,
    brokers: [...settings.kafkaBrokers],
    connectionTimeout: 2_000,
    authenticationTimeout: 5_000,
    requestTimeout: 5_000,
    // A transaction that closely follows another one is rejected for a few milliseconds, until the broker has written the
    // markers of the previous one.
    retry: { initialRetryTime: 10, maxRetryTime: 1_000, retries: 8 },
    ssl: settings.kafkaSsl && (settings.kafkaSslCa ? { ca: [settings.kafkaSslCa] } : true),
    ...(settings.kafkaSaslMechanism && {
      sasl: {
        mechanism: settings.kafkaSaslMechanism as 'plain',
        username: settings.kafkaSaslUsername as string,
        password: settings.kafkaSaslPassword as string,
      },
    }),
    // kafkajs logs normal conditions as errors (a rebalance, a topic that exists). Real failures are thrown and logged by
    // the caller.
    logLevel: logLevel.ERROR,
    logCreator: () => (entry) => logger?.debug(`kafkajs: ${entry.log.message}`, { namespace: entry.namespace }),
  });
}

/** Bounds every kafkajs call, because some of its promises never settle. The call itself is not cancelled. */
export async function withTimeout<Value>(ms: number, what: string, promise: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} timed out after ${ms / 1_000} s`)), ms);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
