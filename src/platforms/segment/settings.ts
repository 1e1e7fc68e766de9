import { visibleAscii } from '../field-checks.js';
import type { Field } from '../platform.js';

export const fields: readonly Field[] = [
  {
    name: 'write_key',
    secret: true,
    required: true,
    help: 'Write key of an HTTP API source: Sources > the source > Settings > API Keys. Jitsu: the server key, as id:secret.',
    check: visibleAscii,
  },
];
