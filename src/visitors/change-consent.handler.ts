import type { ICommandHandler } from '@nestjs/cqrs';
import { type NamedPerson, nameOfSubject } from '../events/person-keys.js';
import { CommandHandler } from '../kernel/command.js';
import type { AppendRequest } from '../log/event.js';
import { EventLog } from '../log/event-log.js';
import type { Site } from '../sites/site.js';
import { ChangeConsent, type ConsentMessage, StateConsent } from './change-consent.command.js';
import { clickPeople } from './click-people.js';
import { newVisitorStream } from './identifier-record.js';
import { anonymousSubject, type CallingVisitor, speakerOf } from './tag/visitor-cookie.js';

@CommandHandler(ChangeConsent)
export class ChangeConsentHandler implements ICommandHandler<ChangeConsent> {
  constructor(private readonly log: EventLog) {}

  async execute({ actor, site, message, visitor }: ChangeConsent): Promise<void> {
    await Promise.all(consentChanges(actor, site, message, visitor).map((request) => this.log.append(request)));
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
        personal: { [nameOfSubject(subject)]: subject },
      }),
    );
  }
}

/** None when the message contains no consent, or no id under which it could be found again. */
export function consentChanges(
  actor: string,
  { host, settings }: Pick<Site, 'host' | 'settings'>,
  message: ConsentMessage,
  visitor: CallingVisitor,
): AppendRequest[] {
  const { consent, visit, visitor: browser, subject, clicks, europe } = message;
  if (!consent) return [];
  const people: NamedPerson[] = clickPeople(settings, clicks).map((person) => ({ person }));
  if (subject !== undefined || browser !== undefined || visitor.cookie)
    people.unshift({ subject: subject ?? anonymousSubject(visitor, browser) });
  return people.map((named) =>
    newVisitorStream(actor, host, {
      type: 'visitor.consent_changed.v1',
      data: { visit, consent, ...(europe && { europe }) },
      personal: {
        ...named,
        speaker: speakerOf(message, visitor) ?? 'unrecognised',
        ...(visitor.cookie && { visitor: visitor.id }),
      },
    }),
  );
}
