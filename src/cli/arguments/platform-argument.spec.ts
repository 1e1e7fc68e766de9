import { readConnectionName } from './platform-argument.js';

describe('readConnectionName', () => {
  it.each<[string, string | undefined, string]>([
    ['meta', undefined, 'meta'],
    ['meta', 'second', 'meta:second'],
    ['meta:second', undefined, 'meta:second'],
  ])('reads %s with --name %s', (text, option, name) => {
    expect(readConnectionName(text, option)).toMatchObject({ name, platform: { name: 'meta' } });
  });

  it.each<[string, string | undefined, RegExp]>([
    ['other', undefined, /^There is no platform "other"\. Available: google_ads, meta, /],
    ['Meta', undefined, /^There is no platform "Meta"/],
    ['other:second', undefined, /^There is no platform "other:second"/],
    ['meta:', undefined, /^The name of a connection has 1 to 32 characters, a to z, .*, not ""\.$/],
    ['meta', '', /^The name of a connection has/],
    ['meta', 'Second', /not "Second"\.$/],
    ['meta', 'a:b', /not "a:b"\.$/],
    ['meta', `a${'b'.repeat(32)}`, /^The name of a connection has/],
    ['meta:second', 'second', /^Give the name once: meta --name <name>, or meta:<name>\.$/],
  ])('refuses %s with --name %s', (text, option, message) => {
    expect(() => readConnectionName(text, option)).toThrow(message);
  });
});
