import { ownTrimmed } from './own-text.js';

/** Most texts: printable ASCII without a blank at either end. */
const CANONICAL = /^[!-~](?:[ -~]*[!-~])?$/;

/** The form in which order ids and event names are compared: Unicode NFC, without white space at both ends. Case is significant. */
export function canonicalText(text: string): string {
  if (CANONICAL.test(text)) return text;
  return ownTrimmed(text).normalize('NFC');
}
