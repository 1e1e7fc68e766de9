/**
 * Checks of settings that several platforms have in common. Each gives what is wrong with a value, undefined when
 * nothing is, and never repeats the value: it may be a secret.
 */
type FieldCheck = (value: string) => string | undefined;

/** What every credential consists of, and all that may stand in a header. */
export const oneWord: FieldCheck = (value) =>
  /^[\x21-\x7e]+$/.test(value) ? undefined : 'must be one word, copied without spaces or line breaks';

export const digitsOnly: FieldCheck = (value) => (/^\d+$/.test(value) ? undefined : 'must be digits only');

/** The code that a Test events tab shows. */
export const testEventCode: FieldCheck = (value) =>
  /^[\w-]+$/.test(value) ? undefined : 'must be letters and digits only, such as TEST12345';

export function oneOf(...values: readonly string[]): FieldCheck {
  return (value) => (values.includes(value) ? undefined : `must be ${values.join(' or ')}`);
}

/** A version of the same form as this one, whatever its numbers. */
export function versionLike(example: string): FieldCheck {
  const form = new RegExp(`^${example.replaceAll('.', '\\.').replace(/\d+/g, '\\d+')}$`);
  return (value) => (form.test(value) ? undefined : `must be a version such as ${example}`);
}
