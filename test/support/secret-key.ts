import { randomBytes } from 'node:crypto';

/** Seals the secrets of every service and operator of a test file. */
export const SECRET_KEY = randomBytes(32).toString('hex');
