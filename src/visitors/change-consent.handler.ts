import type { ICommandHandler } from '@nestjs/cqrs';
import { CommandHandler } from '../kernel/command.js';
import type { AppendRequest } from '../log/event.js';
import { EventLog } from '../log/event-log.js';
import { ChangeConsent, type ConsentMessage } from './change-consent.command.js';
import { visitorSubject } from './visitor.js';
import { newVisitorStream } from './visitor-stream.js';

@CommandHandler(ChangeConsent)
export class ChangeConsentHandler implements ICommandHandler<ChangeConsent> {
  constructor(private readonly log: EventLog) {}

  async execute({ actor, site, message }: ChangeConsent): Promise<void> {
    const request = consentChange(actor, site, message);
    if (request) await this.log.append(request);
  }
}

/** Undefined when the message contains no consent, or no id under which it could be found again. */
export function consentChange(
  actor: string,
  site: string,
  { consent, visit, visitor, subject: emailHash }: ConsentMessage,
): AppendRequest | undefined {
  const subject = emailHash ?? (visitor && visitorSubject(visitor));
  if (!consent || subject === undefined) return undefined;
  return newVisitorStream(actor, site, {
    type: 'visitor.consent_changed.v1',
    data: { visit, consent },
    personal: { subject },
  });
}
