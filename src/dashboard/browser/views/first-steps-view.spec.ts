import { completesStep, firstSteps, nextStep, progressText } from './first-steps-view.js';

const NOTHING = { hasKey: false, hasConversion: false, isTagSeen: false, isConnected: false, hasWebhook: false };

describe('the first steps of a site', () => {
  it('begin with the key', () => {
    const steps = firstSteps(NOTHING);
    expect(steps.map(({ name }) => name)).toEqual(['key', 'conversion', 'tag', 'platform', 'webhook']);
    expect(nextStep(steps)?.name).toBe('key');
    expect(progressText(steps)).toBe('0 of 5 done');
  });

  it('go on with the first that is not done, whatever was done out of order', () => {
    const steps = firstSteps({ ...NOTHING, hasKey: true, isConnected: true, hasWebhook: true });
    expect(nextStep(steps)?.name).toBe('conversion');
    expect(progressText(steps)).toBe('3 of 5 done');
  });

  it('have no next one when all are done', () => {
    const all = { hasKey: true, hasConversion: true, isTagSeen: true, isConnected: true, hasWebhook: true };
    expect(nextStep(firstSteps(all))).toBeUndefined();
  });

  it('are looked at again only after an event that completes one', () => {
    const completes = (progress: Partial<typeof NOTHING>, ...types: string[]) =>
      completesStep(
        { ...NOTHING, ...progress },
        types.map((type) => ({ type })),
      );
    expect(completes({}, 'conversion.delivered.v1', 'conversion.received.v1')).toBe(true);
    expect(completes({ hasConversion: true }, 'conversion.received.v1')).toBe(false);
    expect(completes({ hasConversion: true }, 'visitor.visited.v1')).toBe(true);
    expect(completes({ isTagSeen: true }, 'visitor.visited.v1')).toBe(false);
  });
});
