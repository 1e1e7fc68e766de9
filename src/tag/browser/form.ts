import { isEmail, normaliseEmail } from './email.js';

type Field = HTMLInputElement;

/** The visitor's email in a submitted form, and whether a honeypot field was filled in. Undefined: no such field. */
export interface Submission {
  readonly email: string | undefined;
  readonly honeypot: boolean | undefined;
}

export function readSubmission(form: HTMLFormElement): Submission {
  const fields = Array.from(form.elements) as Field[];
  const honeypots = fields.filter((field) => field.hasAttribute('data-cc-honeypot'));
  const emails = fields.filter((field) => isEmailField(field) && !isIgnored(field) && honeypots.indexOf(field) < 0);
  return {
    email: isIgnored(form) ? undefined : emails.map((field) => normaliseEmail(field.value)).filter(isEmail)[0],
    honeypot: honeypots.length
      ? honeypots.some((field) => (/^(checkbox|radio)$/.test(field.type) ? field.checked : !!field.value))
      : undefined,
  };
}

/** Email and text inputs only: hidden fields may hold the shop's own address. Never reads password and card fields. */
function isEmailField({ tagName, type, disabled, autocomplete, name, id }: Field): boolean {
  if (tagName !== 'INPUT' || disabled) return false;
  if (type === 'email') return true;
  return /^(text|search)$/.test(type) && !/^cc-/.test(autocomplete) && /e-?mail/i.test(`${autocomplete} ${name} ${id}`);
}

function isIgnored(element: Element): boolean {
  return !!element.closest('[data-cc-ignore]');
}
