import { ownTrimmed } from './own-text.js';

/** The form in which order ids and event names are compared: Unicode NFC, without white space at both ends. Case is significant. */
export function canonicalText(text: string): string {
  return ownTrimmed(text).normalize('NFC');
}
