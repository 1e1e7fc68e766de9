import { isEmail, normaliseEmail } from './email.js';

type Field = HTMLInputElement;

/** What a submitted form says: the visitor's email, and whether a field that people cannot see was filled in. */
export interface Submitted {
  readonly email: string | undefined;
  readonly honeypot: boolean | undefined;
}

export function submittedIn(form: HTMLFormElement): Submitted {
  const fields = Array.from(form.elements) as Field[];
  const traps = fields.filter((field) => field.hasAttribute('data-cc-honeypot'));
  const emails = fields.filter((field) => isForEmail(field) && !isIgnored(field) && traps.indexOf(field) < 0);
  return {
    email: isIgnored(form) ? undefined : emails.map((field) => normaliseEmail(field.value)).filter(isEmail)[0],
    honeypot: traps.length
      ? traps.some((field) => (/^(checkbox|radio)$/.test(field.type) ? field.checked : !!field.value))
      : undefined,
  };
}

/** Only what a visitor types an address into. Hidden fields hold the shop's, and passwords and cards are never read. */
function isForEmail({ tagName, type, disabled, autocomplete, name, id }: Field): boolean {
  if (tagName !== 'INPUT' || disabled) return false;
  if (type === 'email') return true;
  return /^(text|search)$/.test(type) && !/^cc-/.test(autocomplete) && /e-?mail/i.test(`${autocomplete} ${name} ${id}`);
}

function isIgnored(element: Element): boolean {
  return !!element.closest('[data-cc-ignore]');
}
