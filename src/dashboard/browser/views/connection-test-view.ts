import type { Schemas } from '../api.js';
import type { Tone } from '../format.js';

type ConnectionTest = Schemas['ConnectionTest'];

export interface TestView {
  readonly tone: Tone;
  readonly title: string;
  /** What the platform has shown to be right. */
  readonly checked?: string;
  /** The platform's words. */
  readonly said?: string;
  /** What is missing, or what to do. */
  readonly next?: string;
}

const CHECKS: Readonly<Record<ConnectionTest['checked'][number], string>> = {
  payload: 'payload',
  credentials: 'credentials',
  account: 'account',
  pixel: 'pixel',
  events: 'mapped events',
  address: 'address',
};

const TITLES: Readonly<Record<ConnectionTest['result'], readonly [Tone, string]>> = {
  accepted: ['ok', 'A test conversion was sent and accepted'],
  refused: ['bad', 'Refused'],
  not_sent: ['plain', 'No conversion was sent'],
};

/** Only what the platform accepted is green. */
export function testView({ result, checked, reason, fix }: ConnectionTest): TestView {
  const [tone, title] = TITLES[result];
  const right = checked.map((check) => CHECKS[check]).join(', ');
  return {
    tone,
    title,
    ...(right !== '' && { checked: `Checked and right: ${right}` }),
    ...(result === 'not_sent' && right === '' && { checked: 'Nothing could be checked' }),
    ...(result === 'refused' && reason !== undefined && { said: reason }),
    ...(result === 'refused' ? fix !== undefined && { next: fix } : reason !== undefined && { next: reason }),
  };
}
