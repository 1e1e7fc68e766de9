import { secretProblem } from '../../http/webhook-signature.js';
import { oneOf, requiredField } from '../fields.js';
import type { Field } from '../platform.js';

export const fields: readonly Field[] = [
  {
    ...requiredField(
      'url',
      'URL that conversions are posted to: https, or also http with OUTBOUND_ALLOW_PRIVATE=true.',
      urlProblem,
    ),
    address: true,
  },
  {
    name: 'secret',
    secret: true,
    help: 'Signing secret of the messages. Without it, one is generated and shown once.',
    check: secretProblem,
  },
  {
    name: 'traceparent',
    help: "yes: messages have a traceparent header, by which the receiver continues the sender's trace (W3C Trace Context).",
    check: oneOf('yes', 'no'),
  },
];

/** Whether http is allowed is checked when sending, because settings outlive the environment they were made in. */
function urlProblem(value: string): string | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') return 'must be a URL that starts with https://';
  if (url.username !== '' || url.password !== '') return 'must not contain credentials: messages are signed instead';
  return undefined;
}
