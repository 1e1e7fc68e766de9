import type { ConversionData } from '../events/conversion.events.js';
import { RecentEventIds } from './recent-event-ids.js';

const data = (over: Partial<ConversionData>) => ({ event: 'purchase', trial: false, ...over }) as ConversionData;

describe('RecentEventIds', () => {
  it('warns of an event id that another conversion of the site has for the same event', () => {
    const ids = new RecentEventIds();
    expect(ids.warningFor('a.example', data({ eventId: 'e1' }))).toBeUndefined();
    expect(ids.warningFor('a.example', data({ eventId: 'e1' }))).toMatch(/^eventId was sent with another conversion/);
    expect(ids.warningFor('a.example', data({ eventId: 'e1', event: 'lead' }))).toBeUndefined();
    expect(ids.warningFor('a.example', data({ eventId: 'e1', trial: true }))).toBeUndefined();
    expect(ids.warningFor('b.example', data({ eventId: 'e1' }))).toBeUndefined();
    expect(ids.warningFor('a.example', data({}))).toBeUndefined();
    expect(ids.warningFor('a.example', data({}))).toBeUndefined();
  });

  it('forgets the oldest', () => {
    const ids = new RecentEventIds(2);
    for (const eventId of ['e1', 'e2', 'e3', 'e1']) expect(ids.warningFor('a', data({ eventId }))).toBeUndefined();
    expect(ids.warningFor('a', data({ eventId: 'e3' }))).toBeDefined();
  });
});
