import { type ConnectionEvent } from '../../events/site.events.js';
import {
  connectPlatform,
  disconnectPlatform,
  evolveConnections,
  parkConnection,
  pauseConnection,
  resumeConnection,
  type SiteConnection,
  settingsAt,
  withPositions,
} from './connection.js';

const connected = (settings = { pixel_id: '1' }, secretNames = ['access_token']): ConnectionEvent => ({
  type: 'site.platform_connected.v1',
  data: { platform: 'meta', settings, secretNames },
});
const disconnected: ConnectionEvent = { type: 'site.platform_disconnected.v1', data: { platform: 'meta' } };
const paused: ConnectionEvent = { type: 'site.platform_paused.v1', data: { platform: 'meta' } };
const gone: ConnectionEvent = { type: 'site.platform_paused.v1', data: { platform: 'meta', reason: 'HTTP 410' } };
const parked: ConnectionEvent = {
  type: 'site.platform_parked.v1',
  data: { platform: 'meta', reason: 'token expired' },
};
const resumed: ConnectionEvent = { type: 'site.platform_resumed.v1', data: { platform: 'meta' } };

const timeOf = (position: number) => `2025-01-01T00:00:0${position}.000Z`;
/** The first event has position 1. */
const fold = (...events: ConnectionEvent[]) =>
  events.reduce<readonly SiteConnection[]>(
    (connections, event, at) =>
      evolveConnections(connections, event, { version: at + 1, position: 10 * (at + 1), time: timeOf(at + 1) }),
    [],
  );
const connectionAfter = (...events: ConnectionEvent[]) => fold(...events)[0] as SiteConnection;

describe('connection', () => {
  it('starts active with the given settings', () => {
    expect(fold(connected())).toEqual([
      {
        platform: 'meta',
        state: 'active',
        settings: { pixel_id: '1' },
        secretNames: ['access_token'],
        version: 1,
        versions: [{ version: 1, position: 10, settings: { pixel_id: '1' } }],
        since: timeOf(1),
      },
    ]);
  });

  it('is independent of connections to other platforms', () => {
    const other: ConnectionEvent = {
      type: 'site.platform_connected.v1',
      data: { platform: 'x', settings: {}, secretNames: [], endpoint: 'http://127.0.0.1:1' },
    };
    const both = fold(connected(), other, parked);
    expect(both.map(({ platform, state }) => [platform, state])).toEqual([
      ['meta', 'parked'],
      ['x', 'active'],
    ]);
    expect(both[1]?.endpoint).toBe('http://127.0.0.1:1');
  });

  it.each<[string, ConnectionEvent[], Partial<SiteConnection>]>([
    ['paused by an operator', [paused], { state: 'paused', since: timeOf(2) }],
    ['paused by the platform', [gone], { state: 'paused', reason: 'HTTP 410' }],
    ['parked', [parked], { state: 'parked', reason: 'token expired', since: timeOf(2) }],
    ['active after it was resumed', [parked, resumed], { state: 'active', since: timeOf(3) }],
    ['active when connected again after it was parked', [parked, connected()], { state: 'active', since: timeOf(3) }],
    ['active when connected again after the platform paused it', [gone, connected()], { state: 'active' }],
    [
      'still paused when connected again after an operator paused it',
      [paused, connected()],
      { state: 'paused', since: timeOf(2) },
    ],
    ['active since the start when only its settings change', [connected({ pixel_id: '2' })], { since: timeOf(1) }],
    [
      'active when connected after a pause and a disconnection',
      [paused, disconnected, connected()],
      { state: 'active' },
    ],
    ['disconnected', [disconnected], { disconnected: true, since: timeOf(2) }],
    [
      'disconnected regardless of later events',
      [disconnected, parked, resumed],
      { disconnected: true, since: timeOf(2) },
    ],
  ])('is %s', (_, events, expected) => {
    const connection = connectionAfter(connected(), ...events);
    expect(connection).toMatchObject(expected);
    expect('reason' in connection).toBe('reason' in expected);
    expect('disconnected' in connection).toBe('disconnected' in expected);
  });

  it('keeps all versions of its settings across a disconnection', () => {
    const connection = connectionAfter(
      connected({ pixel_id: '1' }),
      paused,
      connected({ pixel_id: '2' }),
      disconnected,
      connected({ pixel_id: '3' }),
    );
    expect(connection.version).toBe(5);
    const inForce = [undefined, '1', '1', '2', '2', '3', '3'];
    const versions = [0, 1, 2, 3, 4, 5, 99];
    expect(versions.map((siteVersion) => settingsAt(connection, { siteVersion })?.['pixel_id'])).toEqual(inForce);
    // As versions before 0.3 have recorded it, in the log that they wrote and in another one.
    const positions = [0, 10, 20, 30, 49, 50, 999];
    expect(positions.map((settings) => settingsAt(connection, { settings })?.['pixel_id'])).toEqual(inForce);
    const moved = withPositions(connection, [110, 120, 130]);
    expect([109, 110, 129, 130, 999].map((settings) => settingsAt(moved, { settings })?.['pixel_id'])).toEqual([
      ...[undefined, '1', '1', '2', '2'],
    ]);
  });

  it('adds no version when only a secret changes', () => {
    const connection = connectionAfter(connected(), connected({ pixel_id: '1' }, ['access_token', 'other']));
    expect(connection).toMatchObject({
      version: 1,
      versions: [{ version: 1 }],
      secretNames: ['access_token', 'other'],
    });
  });

  it('is not created by a pause', () => {
    expect(fold(paused, parked, resumed, disconnected)).toEqual([]);
  });
});

describe('decisions about a connection', () => {
  const unchanged = { settings: { pixel_id: '1' }, secrets: { access_token: 'secret' } };
  const active = connectionAfter(connected());

  it('connect with the complete settings and no secret values', () => {
    const next = { ...unchanged, endpoint: 'http://127.0.0.1:1' };
    expect(connectPlatform('meta', undefined, next, true)).toEqual({
      type: 'site.platform_connected.v1',
      data: {
        platform: 'meta',
        settings: { pixel_id: '1' },
        secretNames: ['access_token'],
        endpoint: 'http://127.0.0.1:1',
      },
    });
  });

  it.each<[string, SiteConnection, Partial<typeof unchanged> & { endpoint?: string }, boolean]>([
    ['a setting changed', active, { settings: { pixel_id: '2' } }, false],
    ['a secret changed', active, {}, true],
    ['the endpoint changed', active, { endpoint: 'http://127.0.0.1:1' }, false],
    ['it was parked', connectionAfter(connected(), parked), {}, false],
    ['the platform paused it', connectionAfter(connected(), gone), {}, false],
    ['it was disconnected', connectionAfter(connected(), disconnected), {}, false],
  ])('connect again when %s', (_, before, change, secretsChanged) => {
    expect(connectPlatform('meta', before, { ...unchanged, ...change }, secretsChanged)?.type).toBe(
      'site.platform_connected.v1',
    );
  });

  it.each([
    ['nothing changes', active],
    ['an operator paused it and nothing changes', connectionAfter(connected(), paused)],
  ])('return no event when %s', (_, before) => {
    expect(connectPlatform('meta', before, unchanged, false)).toBeUndefined();
  });

  it.each<[string, ConnectionEvent[], boolean[]]>([
    // disconnect, pause, pause by the platform, park, resume
    ['active', [], [true, true, true, true, false]],
    ['parked', [parked], [true, true, true, false, true]],
    ['paused by an operator', [paused], [true, false, false, false, true]],
    ['paused by the platform', [gone], [true, true, false, false, true]],
    ['disconnected', [disconnected], [false, false, false, false, false]],
  ])('depend on its state: %s', (_, earlier, expected) => {
    const before = connectionAfter(connected(), ...earlier);
    const events = [
      disconnectPlatform(before),
      pauseConnection(before),
      pauseConnection(before, 'HTTP 410'),
      parkConnection(before, 'token expired'),
      resumeConnection(before),
    ];
    expect(events.map((event) => event !== undefined)).toEqual(expected);
    expect(events.filter((event) => event)).toEqual(
      [disconnected, paused, gone, parked, resumed].filter((_, at) => expected[at]),
    );
  });
});
