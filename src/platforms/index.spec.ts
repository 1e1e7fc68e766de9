import { PLATFORMS, platformOf } from './index.js';
import { PLATFORM_NAMES } from './platform.js';

describe('PLATFORMS', () => {
  it('lists every platform in the order of a receipt and finds it by name', () => {
    expect(PLATFORMS.map(({ name }) => name)).toEqual(PLATFORM_NAMES);
    expect(PLATFORM_NAMES.map((name) => platformOf(name)?.name)).toEqual(PLATFORM_NAMES);
    expect(platformOf('myspace')).toBeUndefined();
  });

  it.each(PLATFORMS.map(({ name, fields }) => [name, fields] as const))(
    'has unique field names that do not collide with the common settings: %s',
    (_, fields) => {
      const names = fields.map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
      expect(names.filter((name) => !/^[a-z][a-z_]*$/.test(name) || name === 'events')).toEqual([]);
    },
  );
});
