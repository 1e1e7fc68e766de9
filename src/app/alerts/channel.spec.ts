import type { StoredEvent } from '../../log/event.js';
import { evolveChannels, isToldOf } from './channel.js';

const channel = { id: 'one', sites: null, kinds: null, severity: 'warning', paused: false } as const;
const item = { kind: 'connection_parked', severity: 'error', site: 'shop.example' } as const;

describe('isToldOf', () => {
  it('tells of all sites and of the service by default, and of nothing that a person did', () => {
    expect(isToldOf(channel, item)).toBe(true);
    expect(isToldOf(channel, { kind: 'projection_lagging', severity: 'warning' })).toBe(true);
    expect(isToldOf(channel, { ...item, kind: 'connection_paused' })).toBe(false);
    expect(isToldOf({ ...channel, kinds: ['connection_paused'] }, { ...item, kind: 'connection_paused' })).toBe(true);
    expect(isToldOf({ ...channel, kinds: ['connection_paused'] }, item)).toBe(false);
  });

  it('tells of the named sites only, and of nothing that concerns no site', () => {
    const named = { ...channel, sites: ['shop.example'] };
    expect(isToldOf(named, item)).toBe(true);
    expect(isToldOf(named, { ...item, site: 'other.example' })).toBe(false);
    expect(isToldOf(named, { kind: 'projection_parked', severity: 'error' })).toBe(false);
  });

  it('tells of errors only where warnings are not wanted', () => {
    expect(isToldOf({ ...channel, severity: 'error' }, { ...item, severity: 'warning' })).toBe(false);
    expect(isToldOf({ ...channel, severity: 'error' }, item)).toBe(true);
  });

  it('does not tell a channel that it fails itself, nor a paused one of anything', () => {
    const failing = { kind: 'alerts_failing', severity: 'warning', subject: 'one' } as const;
    expect(isToldOf(channel, failing)).toBe(false);
    expect(isToldOf({ ...channel, id: 'two' }, failing)).toBe(true);
    expect(isToldOf({ ...channel, paused: true }, item)).toBe(false);
  });
});

describe('evolveChannels', () => {
  const event = (type: string, data: object) =>
    ({ type: `log.alert_channel_${type}.v1`, data, time: 'T' }) as StoredEvent;
  const added = (channelId: string, more = {}) =>
    event('added', { channelId, kind: 'email', sites: null, kinds: null, severity: 'warning', ...more });

  it('has those that were added and not removed', () => {
    const channels = evolveChannels([
      added('one'),
      added('two', { kinds: ['token_expiring', 'of_a_later_version'], severity: 'error', sites: ['a.example'] }),
      added('three'),
      event('removed', { channelId: 'three' }),
    ]);
    expect(channels).toEqual([
      { id: 'one', kind: 'email', sites: null, kinds: null, severity: 'warning', paused: false, createdAt: 'T' },
      expect.objectContaining({ id: 'two', kinds: ['token_expiring'], sites: ['a.example'], severity: 'error' }),
    ]);
  });

  it('pauses one, or all after a restore', () => {
    const paused = (...more: StoredEvent[]) =>
      evolveChannels([added('one'), added('two'), ...more]).map((each) => each.paused);
    expect(paused(event('paused', { channelId: 'one' }))).toEqual([true, false]);
    expect(paused(event('paused', { channelId: null }), event('resumed', { channelId: 'two' }))).toEqual([true, false]);
    expect(paused(event('paused', { channelId: null }))).toEqual([true, true]);
  });
});
