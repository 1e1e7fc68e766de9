import { oneOf, refundEventField, requiredSecret } from '../fields.js';
import type { Connection, Field, Settings } from '../platform.js';
import { presetsField } from '../presets.js';
import { isEventName, isParameterName } from './names.js';

export const PRESETS = {
  tax: 'tax',
  shipping: 'shipping',
  coupon: 'coupon',
  customer_type: 'customer_type',
};

export const fields: readonly Field[] = [
  {
    name: 'measurement_id',
    help: 'Measurement id of the web data stream, such as G-XXXXXXX: Admin > Data streams. Or set firebase_app_id.',
    check: (value) => (/^G-[A-Z0-9]{4,20}$/.test(value) ? undefined : 'must have the format G-XXXXXXX, in upper case'),
  },
  {
    name: 'firebase_app_id',
    help: 'In place of measurement_id, for an app data stream: Firebase console > Project settings > Your apps > App ID.',
    check: (value) =>
      /^\d+:\d+:(?:android|ios):[0-9a-f]+$/.test(value)
        ? undefined
        : 'must have the format 1:1234567890:android:0a1b2c3d',
  },
  requiredSecret(
    'api_secret',
    'API secret of that stream: Admin > Data streams > the stream > Measurement Protocol API secrets.',
  ),
  {
    name: 'synthetic_client_id',
    help: 'yes: conversions without a _ga cookie are sent too; each person then appears as a separate visitor.',
    check: oneOf('yes', 'no'),
    fallback: 'no',
  },
  {
    name: 'external_id',
    help: 'user_id: externalId is sent as the user id, plain. app_instance_id: it is the id of the app instance (firebase_app_id).',
    check: oneOf('user_id', 'app_instance_id'),
  },
  refundEventField,
  presetsField(Object.keys(PRESETS)),
];

/** Google Analytics never reports an invalid name, so it has to be refused here. */
export function check({ settings }: Connection): string | undefined {
  for (const [name, value] of Object.entries(settings)) {
    if (name.startsWith('event.') && !isEventName(value))
      return `${name} must be 1 to 40 letters, digits and underscores, start with a letter and not be a reserved name`;
    if (name.startsWith('field.') && !isParameterName(name.slice('field.'.length)))
      return `${name}: a parameter name has 1 to 40 letters, digits and underscores, starts with a letter and has no reserved prefix`;
  }
  return streamProblem(settings);
}

export function isApp(settings: Settings): boolean {
  return settings['firebase_app_id'] !== undefined;
}

function streamProblem(settings: Settings): string | undefined {
  const isWeb = settings['measurement_id'] !== undefined;
  if (isWeb === isApp(settings)) return 'measurement_id or firebase_app_id is required, and not both';
  const isAppId = settings['external_id'] === 'app_instance_id';
  if (isWeb && isAppId) return 'external_id=app_instance_id requires firebase_app_id';
  if (!isWeb && !isAppId)
    return 'firebase_app_id requires external_id=app_instance_id: the app sends its instance id as externalId';
  return undefined;
}
