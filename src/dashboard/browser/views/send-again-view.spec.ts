import { nextKey, sendAgainRequest, sendPreview } from './send-again-view.js';

const FAILED = { platform: 'meta', status: 'failed' };
const ANSWER = {
  deliveries: [],
  after: 0,
  dryRun: true,
  requested: 1,
  connections: { meta: { requested: 1, byStatus: { failed: 1 } } },
};

describe('sending a delivery again', () => {
  it('forces only what the platform has accepted', () => {
    expect(sendAgainRequest('1', FAILED)).toEqual({
      conversion: '1',
      connection: 'meta',
      force: false,
      status: ['failed', 'skipped', 'queued'],
    });
    expect(sendAgainRequest('1', { platform: 'meta', status: 'confirmed' })).toEqual({
      conversion: '1',
      connection: 'meta',
      force: true,
    });
  });

  it('shows the payload first, and warns of what counts twice', () => {
    const preview = { status: 'sent' as const, payload: { id: 1 } };
    expect(sendPreview({ ...ANSWER, preview }, FAILED)).toEqual({ payload: '{\n  "id": 1\n}' });
    expect(sendPreview({ ...ANSWER, preview }, { ...FAILED, status: 'delivered' })).toMatchObject({
      warning: 'Meta accepted it already. It is sent under a new id, and may count twice.',
    });
  });

  it('keeps its key while it is unknown whether it was sent, and takes a new one after an answer', () => {
    const keyAfter = (status?: number) => nextKey('old', status === undefined ? undefined : { status }, () => 'new');
    expect([0, 502, 504].map(keyAfter)).toEqual(['old', 'old', 'old']);
    expect([undefined, 409, 422, 503].map(keyAfter)).toEqual(['new', 'new', 'new', 'new']);
  });

  it('says why nothing would be sent', () => {
    const none = (byStatus: Record<string, number>) => ({
      ...{ ...ANSWER, requested: 0 },
      connections: { meta: { requested: 0, byStatus } },
    });
    expect(sendPreview(none({ disconnected: 1 }), FAILED)).toEqual({
      reason: 'Meta is not connected any more. Connect it first.',
    });
    expect(sendPreview(none({ pending: 1 }), FAILED)).toMatchObject({ reason: expect.stringContaining('waiting') });
    const preview = { status: 'skipped' as const, reason: 'no click id' };
    expect(sendPreview({ ...ANSWER, preview }, FAILED)).toEqual({ reason: 'Meta would not get it: no click id.' });
  });
});
