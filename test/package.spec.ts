import { readFileSync } from 'node:fs';

const manifest = JSON.parse(readFileSync('package.json', 'utf8'));

describe('the published package', () => {
  it('has dependencies in exact versions', () => {
    const versions = Object.values({ ...manifest.dependencies, ...manifest.optionalDependencies });
    expect(versions.filter((version) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version as string))).toEqual([]);
  });

  it('runs no script when it is installed', () => {
    const installing = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish'];
    expect(Object.keys(manifest.scripts).filter((name) => installing.includes(name))).toEqual([]);
  });

  it('can be published with provenance', () => {
    expect(manifest.private).toBeUndefined();
    expect(manifest.repository.url).toMatch(/^git\+https:\/\/.*\.git$/);
    expect(manifest.publishConfig).toEqual({ access: 'public', provenance: true });
  });
});
