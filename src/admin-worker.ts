import 'reflect-metadata';
import { parentPort } from 'node:worker_threads';
import { startAdmin, stopAdmin } from './admin/admin.js';
import type { AdminMessage } from './app/admin-thread.js';
import { messageOf } from './kernel/errors.js';
import { Logger } from './kernel/logger.js';
import { openSealer } from './kernel/secret-key.js';
import { readSettings } from './kernel/settings.js';
import { Postgres } from './postgres/postgres.js';

// A thread of its own: a search, an export or a password that is hashed must not delay conversions.
const settings = readSettings(process.env);
const logger = new Logger(settings.logLevel);
const { databaseUrl, dataDir } = settings;
const report = (message: AdminMessage) => parentPort?.postMessage(message);

const postgres = await Postgres.open({ databaseUrl, dataDir, onMessage: (line) => logger.warn(line) });
try {
  const admin = await startAdmin({ settings, logger, sealer: openSealer(settings), postgres });
  parentPort?.once('message', () => void stopAdmin(admin, settings.shutdownGraceMs).then(() => parentPort?.close()));
  report({ kind: 'listening', url: admin.url });
} catch (error) {
  await postgres.close();
  report({ kind: 'failed', reason: messageOf(error) });
  parentPort?.close();
}
