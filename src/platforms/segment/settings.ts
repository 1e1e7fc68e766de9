import { requiredSecret } from '../fields.js';
import type { Field } from '../platform.js';

export const fields: readonly Field[] = [
  requiredSecret(
    'write_key',
    'Write key of an HTTP API source: Sources > the source > Settings > API Keys. Jitsu: the server key, as id:secret.',
  ),
];
