import type { Field } from '../platform.js';

export const fields: readonly Field[] = [
  {
    name: 'write_key',
    secret: true,
    required: true,
    help: 'Of an HTTP API source: Sources > the source > Settings > API Keys. Jitsu: the server key, as id:secret.',
    check: (value) => (/^[\x21-\x7e]+$/.test(value) ? undefined : 'must be one word, as the source shows it'),
  },
];
