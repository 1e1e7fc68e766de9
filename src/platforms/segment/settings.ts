import { oneOf, requiredSecret } from '../fields.js';
import type { Field } from '../platform.js';
import { presetsField } from '../presets.js';

export const PRESETS = { tax: 'tax', shipping: 'shipping', coupon: 'coupon' };

export const fields: readonly Field[] = [
  requiredSecret(
    'write_key',
    'Write key of an HTTP API source: Sources > the source > Settings > API Keys. Jitsu: the server key, as id:secret.',
  ),
  {
    name: 'when_denied',
    help: 'After an opt-out: anonymous (default) sends the conversion without the hashed email, skip sends nothing.',
    check: (value) => (/^(anonymous|skip)$/.test(value) ? undefined : 'must be anonymous or skip'),
    fallback: 'anonymous',
  },
  {
    name: 'external_id',
    help: 'user_id: externalId is the userId, plain, in place of the hashed email. Without it, externalId is not sent.',
    check: oneOf('user_id'),
  },
  presetsField(Object.keys(PRESETS)),
];
