import type { AttentionItem } from '../attention/attention-item.js';
import { changesOf, keyOf, type Observation, type OpenAlert } from './alert-state.js';

const NOW_MS = 10_000_000;
const HOLD_MS = 60_000;

const item = (more: Partial<AttentionItem> = {}): AttentionItem => ({
  ...{ kind: 'connection_parked', severity: 'error', site: 'shop.example', platform: 'meta', detail: 'revoked' },
  action: { label: 'Reconnect', method: 'PUT', route: '/' },
  ...more,
});
const alert = (more: Partial<OpenAlert> = {}, of = item()): OpenAlert => ({
  ...{ id: 'a', key: keyOf(of), item: of, seenMs: NOW_MS - HOLD_MS },
  ...more,
});
const changes = (open: OpenAlert[], items: AttentionItem[], isUnknown: Observation['isUnknown'] = () => false) =>
  changesOf(open, { nowMs: NOW_MS, holdMs: HOLD_MS, items, isUnknown });

describe('changesOf', () => {
  it('starts what has lasted long enough, once', () => {
    expect(changes([], [item()])).toEqual([{ kind: 'seen', key: keyOf(item()), item: item() }]);
    expect(changes([alert({ seenMs: NOW_MS - HOLD_MS + 1 })], [item()])).toEqual([]);
    expect(changes([alert()], [item({ count: 7, detail: 'other' })])).toEqual([{ kind: 'started', id: 'a' }]);
    expect(changes([alert({ startedMs: NOW_MS - 1 })], [item()])).toEqual([]);
  });

  it('forgets what was there for a moment', () => {
    expect(changes([alert({ seenMs: NOW_MS - 1 })], [])).toEqual([{ kind: 'dismissed', id: 'a' }]);
  });

  it('ends what has been gone for long enough, and not what was gone for a moment', () => {
    const startedMs = NOW_MS - 10 * HOLD_MS;
    expect(changes([alert({ startedMs })], [])).toEqual([{ kind: 'missing', id: 'a' }]);
    expect(changes([alert({ startedMs, missingMs: NOW_MS - HOLD_MS + 1 })], [])).toEqual([]);
    expect(changes([alert({ startedMs, missingMs: NOW_MS - 1 })], [item()])).toEqual([{ kind: 'back', id: 'a' }]);
    expect(changes([alert({ startedMs, missingMs: NOW_MS - HOLD_MS })], [])).toEqual([
      { kind: 'ended', id: 'a', missingMs: NOW_MS - HOLD_MS, told: true },
    ]);
  });

  it('says nothing of a site that is paused: an alert neither ends nor starts', () => {
    const isUnknown = () => true;
    expect(changes([], [item()], isUnknown)).toEqual([]);
    expect(changes([alert()], [item()], isUnknown)).toEqual([{ kind: 'dismissed', id: 'a' }]);
    expect(changes([alert({ startedMs: 1 })], [], isUnknown)).toEqual([]);
    const gone = alert({ startedMs: 1, missingMs: NOW_MS - HOLD_MS });
    expect(changes([gone], [], isUnknown)).toEqual([{ kind: 'back', id: 'a' }]);
  });

  it('takes what got worse for another alert, and does not call the first one ended', () => {
    const warning = item({ kind: 'connection_expiring', severity: 'warning' });
    const error = { ...warning, severity: 'error' } as const;
    const open = [alert({ startedMs: 1, missingMs: NOW_MS - HOLD_MS }, warning)];
    expect(changes(open, [error])).toEqual([
      { kind: 'ended', id: 'a', missingMs: NOW_MS - HOLD_MS, told: false },
      { kind: 'seen', key: keyOf(error), item: error },
    ]);
  });

  it('does not wait for a time that a clock stored that was ahead', () => {
    expect(changes([alert({ seenMs: NOW_MS + 1e9 })], [item()])).toEqual([{ kind: 'started', id: 'a' }]);
    expect(changes([alert({ startedMs: 1, missingMs: NOW_MS + 1e9 })], [])).toMatchObject([{ kind: 'ended' }]);
  });

  it('tells what is about other connections, sites and keys apart', () => {
    const items = [item(), item({ platform: 'tiktok' }), item({ site: 'b.example' }), item({ subject: '1' })];
    expect(new Set(items.map(keyOf)).size).toBe(4);
  });
});
