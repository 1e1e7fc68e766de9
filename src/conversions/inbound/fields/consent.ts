import { CONSENT_FIELDS, type SentConsent } from '../../../platforms/conversion.js';
import type { InboundField } from '../inbound-field.js';
import { PartProblems } from './parts.js';
import { fieldsOf, isAbsent } from './texts.js';

const KNOWN: ReadonlySet<string> = new Set(CONSENT_FIELDS);

export const consentField: InboundField = {
  name: 'consent',
  schema: {
    type: 'object',
    description:
      'Consent to this conversion, as Consent Mode v2 has it. It withholds what the person denies here, and never permits what a stored statement denies.',
    properties: Object.fromEntries(CONSENT_FIELDS.map((name) => [name, { enum: ['granted', 'denied', '', null] }])),
    additionalProperties: false,
    example: { ad_storage: 'granted', ad_user_data: 'granted', ad_personalization: 'denied' },
  },
  read: (sent, fields, reading) => {
    const entries = fieldsOf(sent);
    if (!entries) return 'consent must be an object';
    const problems = new PartProblems(reading);
    const consent: Record<string, 'granted' | 'denied'> = {};
    for (const [name, state] of entries) {
      if (!KNOWN.has(name)) {
        if (problems.add(`consent must have no other names than ${CONSENT_FIELDS.join(', ')}`)) break;
      } else if (state === 'granted' || state === 'denied') consent[name] = state;
      else if (!isAbsent(state) && problems.add(`consent.${name} must be granted or denied`)) break;
    }
    if (Object.keys(consent).length > 0) fields.consent = consent as SentConsent;
    return problems.result();
  },
};
