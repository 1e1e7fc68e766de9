import type { ICommandHandler } from '@nestjs/cqrs';
import { CommandHandler } from '../kernel/command.js';
import type { AppendRequest } from '../log/event.js';
import { EventLog } from '../log/event-log.js';
import { ChangeConsent, type ConsentMessage, StateConsent } from './change-consent.command.js';
import { newVisitorStream } from './identifier-record.js';
import { anonymousSubject, type CallingVisitor, speakerOf } from './tag/visitor-cookie.js';

@CommandHandler(ChangeConsent)
export class ChangeConsentHandler implements ICommandHandler<ChangeConsent> {
  constructor(private readonly log: EventLog) {}

  async execute({ actor, site, message, visitor }: ChangeConsent): Promise<void> {
    const request = consentChange(actor, site, message, visitor);
    if (request) await this.log.append(request);
  }
}

@CommandHandler(StateConsent)
export class StateConsentHandler implements ICommandHandler<StateConsent> {
  constructor(private readonly log: EventLog) {}

  async execute({ actor, site, subject, value }: StateConsent): Promise<void> {
    const consent = { ad_storage: value, ad_user_data: value };
    await this.log.append(
      newVisitorStream(actor, site, {
        type: 'visitor.consent_changed.v1',
        data: { consent, operator: true },
        personal: { subject },
      }),
    );
  }
}

/** Undefined when the message contains no consent, or no id under which it could be found again. */
export function consentChange(
  actor: string,
  site: string,
  message: ConsentMessage,
  visitor: CallingVisitor,
): AppendRequest | undefined {
  const { consent, visit, visitor: browser, subject, europe } = message;
  if (!consent || (subject === undefined && browser === undefined && !visitor.cookie)) return undefined;
  return newVisitorStream(actor, site, {
    type: 'visitor.consent_changed.v1',
    data: { visit, consent, ...(europe && { europe }) },
    personal: {
      subject: subject ?? anonymousSubject(visitor, browser),
      speaker: speakerOf(message, visitor) ?? 'unrecognised',
      ...(visitor.cookie && { visitor: visitor.id }),
    },
  });
}
