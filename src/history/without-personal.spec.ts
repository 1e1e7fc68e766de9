import type { RedactedEvent } from './redact-event.js';
import { withoutPersonal } from './without-personal.js';

const HASH = 'ab'.repeat(32);

describe('an event without what is about people', () => {
  it('has no email address, wherever an earlier version stored it', () => {
    const data = {
      orderId: 'ada@example.com-1',
      event: 'signup%40shop ada%40example.com',
      items: [{ id: 'ada@example.com', name: 'Shoe', quantity: 2 }],
      settings: { 'ada@example.com': 'AW-1' },
      value: 19.99,
      trial: false,
    };
    expect(withoutPersonal(event('conversion.received.v1', data)).data).toEqual({
      orderId: '(an email address)',
      event: '(an email address)',
      items: [{ id: '(an email address)', name: 'Shoe', quantity: 2 }],
      settings: { '(an email address)': 'AW-1' },
      value: 19.99,
      trial: false,
    });
  });

  it("has what platforms answered without the values that they repeat, and the product's own reasons as they are", () => {
    const data = {
      reason: `No match for ada@example.com, ${HASH} at 192.0.2.1`,
      response: '{"fbclid":"IwAR0_1234567890abcdefgh","error":"Invalid parameter"}',
    };
    expect(withoutPersonal(event('conversion.failed.v1', data)).data).toEqual({
      reason: 'No match for … … at …',
      response: '{"fbclid":"…","error":"Invalid parameter"}',
    });
    const own = { reason: 'no_usable_identifier', bodySha256: HASH };
    expect(withoutPersonal(event('conversion.skipped.v1', own)).data).toEqual(own);
  });

  it('does not name users of the operating system', () => {
    expect(withoutPersonal(event('site.registered.v1', {}, 'cli:ada')).actor).toBe('cli');
    expect(withoutPersonal(event('site.registered.v1', {}, 'user:0198')).actor).toBe('user:0198');
    const sample = [
      { reason: 'value', by: 'cli:ada' },
      { reason: 'email', by: 'key:0198' },
    ];
    expect(withoutPersonal(event('inbound.rejected.v1', { sample })).data).toEqual({
      sample: [
        { reason: 'value', by: 'cli' },
        { reason: 'email', by: 'key:0198' },
      ],
    });
  });

  it('has no personal part', () => {
    expect(withoutPersonal(event('visitor.visited.v1', {})).personal).toBeNull();
  });
});

function event(type: string, data: object, actor = 'system'): RedactedEvent {
  const envelope = {
    position: 1,
    id: 'id',
    stream: 's-1',
    version: 1,
    site: 'shop.example',
    time: '2026-03-01T10:00:00.000Z',
  };
  return { ...envelope, type, actor, data, personal: { subject: HASH } } as never;
}
