import type { Field } from './platform.js';

/**
 * Checks of settings that several platforms share. Each returns what is wrong with a value, or undefined. The message
 * never contains the value, because it may be a secret.
 */
type FieldCheck = (value: string) => string | undefined;

/** For credentials, which are sent in headers. */
export const visibleAscii: FieldCheck = (value) =>
  /^[\x21-\x7e]+$/.test(value) ? undefined : 'must be visible ASCII characters, without spaces or line breaks';

export const digitsOnly: FieldCheck = (value) => (/^\d+$/.test(value) ? undefined : 'must be digits only');

/** The code that the Test events tab of Meta or TikTok shows. */
export const testEventCode: FieldCheck = (value) =>
  /^[\w-]+$/.test(value) ? undefined : 'must be letters and digits only, such as TEST12345';

/** Field of platforms with corrections. */
export const refundEventField: Field = {
  name: 'refund_event',
  help: 'An event of yours, such as refund, that corrects the conversion of its order instead of being one.',
  check: (value) => ([...value].length <= 100 ? undefined : 'must be the name of an event of at most 100 characters'),
};

export function oneOf(...values: readonly string[]): FieldCheck {
  return (value) => (values.includes(value) ? undefined : `must be ${values.join(' or ')}`);
}

/** A version in the format of the example, with any numbers. */
export function versionLike(example: string): FieldCheck {
  const form = new RegExp(`^${example.replaceAll('.', '\\.').replace(/\d+/g, '\\d+')}$`);
  return (value) => (form.test(value) ? undefined : `must be a version such as ${example}`);
}

export function requiredField(name: string, help: string, check: FieldCheck): Field {
  return { name, required: true, help, check };
}

export function requiredSecret(name: string, help: string): Field {
  return { name, secret: true, required: true, help, check: visibleAscii };
}

/** For platforms that accept conversions for limited use: see `isLimited`. */
export const limitedDataUseField: Field = {
  name: 'limited_data_use',
  help: 'Which conversions are marked for limited use: denied (default), those of people who opted out; always, all.',
  check: oneOf('denied', 'always'),
  fallback: 'denied',
};

/** The setting of an API version, which must have the format of the default. */
export function versionField(name: string, help: string, fallback: string): Field {
  return { name, help, check: versionLike(fallback), fallback };
}
