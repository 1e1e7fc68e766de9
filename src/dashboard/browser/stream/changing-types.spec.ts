import { CHANGING } from './changing-types.js';

type Resource = keyof typeof CHANGING;

function changedBy(type: string): Resource[] {
  return (Object.keys(CHANGING) as Resource[]).filter((name) => (CHANGING[name] as readonly string[]).includes(type));
}

describe('what a page reads again after an event', () => {
  it.each([
    ['conversion.received.v1', ['figures', 'sources', 'unusedFields', 'connections']],
    ['conversion.delivered.v1', ['figures', 'connections']],
    ['conversion.failed.v1', ['figures', 'connections', 'attention']],
    ['conversion.deferred.v1', ['figures', 'connections']],
    ['inbound.rejected.v1', ['figures']],
    ['site.platform_parked.v1', ['figures', 'connections', 'attention']],
    ['outbound.failed.v1', ['attention']],
    ['site.settings_changed.v1', ['attention']],
    ['visitor.erased.v1', ['figures', 'sources']],
    ['visitor.visited.v1', []],
    ['visitor.consent_changed.v1', []],
  ])('is after %s %j', (type, resources) => {
    expect(changedBy(type)).toEqual(resources);
  });
});
