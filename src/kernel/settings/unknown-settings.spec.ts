import { describeUnknownSetting, findUnknownSettings } from './unknown-settings.js';

describe('findUnknownSettings', () => {
  it.each([
    ['TRUSTED_PROXY', 'TRUSTED_PROXIES'],
    ['DATABASEURL', 'DATABASE_URL'],
    ['database_url', 'DATABASE_URL'],
    ['KAFKA_BROKER', 'KAFKA_BROKERS'],
    ['KAFKA_SASL_USER', 'KAFKA_SASL_USERNAME'],
    ['LOG-LEVEL', 'LOG_LEVEL'],
    ['DEDUP_WINDOWS', 'DEDUP_WINDOW'],
    ['OUTBOUND_ALLOW_PRIVAT', 'OUTBOUND_ALLOW_PRIVATE'],
  ])('names %s, which resembles %s', (name, meant) => {
    expect(findUnknownSettings({ [name]: 'x' })).toEqual([{ name, meant }]);
  });

  it('names a variable that begins with a setting', () => {
    expect(findUnknownSettings({ SECRET_KEY_OLD: 'x' })).toEqual([{ name: 'SECRET_KEY_OLD', meant: 'SECRET_KEY' }]);
  });

  it.each([
    'HOSTNAME',
    'SHELL',
    'HOME',
    'PATH',
    'LOGNAME',
    'PGPASSWORD',
    'POSTGRES_PASSWORD',
    'SITE_HOST',
    'NODE_ENV',
    'KAFKA_HEAP_OPTS',
    'npm_config_cache',
    'DATABASE_URL',
  ])('ignores %s', (name) => {
    expect(findUnknownSettings({ [name]: 'x' })).toEqual([]);
  });

  it('never repeats the value, which may be a secret', () => {
    const [found] = findUnknownSettings({ SECRET_KEYS: 'hunter2' });
    expect(describeUnknownSetting(found as never)).toBe(
      'SECRET_KEYS is not a setting and has no effect. Did you mean SECRET_KEY?',
    );
  });
});
