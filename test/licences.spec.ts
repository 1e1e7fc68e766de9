import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { licencesDocument, PERMITTED, productionDependencies } from '../scripts/licences-document.mjs';

interface Dependency {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
}

interface Sbom {
  readonly bomFormat: string;
  readonly metadata: { readonly component: { readonly name: string; readonly 'bom-ref': string } };
  readonly components: readonly { readonly name: string; readonly 'bom-ref': string }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const dependencies: readonly Dependency[] = productionDependencies(lock);

describe('the licences of production dependencies', () => {
  it('are listed in docs/licences.md', () => {
    // Otherwise run `npm run docs:licences`.
    expect(readFileSync('docs/licences.md', 'utf8')).toBe(licencesDocument(lock));
  });

  it('are permitted ones', () => {
    expect(dependencies.filter(({ licence }) => !PERMITTED.includes(licence))).toEqual([]);
  });

  it('are those that the installed packages state', () => {
    const stated = dependencies.flatMap(({ name, version, licence }) => {
      const file = join('node_modules', name, 'package.json');
      // Packages for other platforms are not installed, and other versions are below the package that needs them.
      const manifest = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
      return manifest.version === version ? [{ name, licence, stated: manifest.license }] : [];
    });
    expect(stated.length).toBeGreaterThan(100);
    expect(stated.filter(({ licence, stated: own }) => licence !== own)).toEqual([]);
  });
});

it('the bill of materials lists the production dependencies as a CycloneDX document', () => {
  const text = execFileSync(process.execPath, ['scripts/sbom.mjs'], {
    encoding: 'utf8',
    maxBuffer: 1e8,
    stdio: 'pipe',
  });
  const document = JSON.parse(text) as Sbom;
  expect(document.bomFormat).toBe('CycloneDX');
  expect(document.metadata.component.name).toBe('clean-conversions');
  const references = document.components.map((component) => component['bom-ref']);
  expect([...references].sort()).toEqual(dependencies.map(({ name, version }) => `${name}@${version}`).sort());
  // Each is reached from the application.
  const reached = new Set([document.metadata.component['bom-ref']]);
  const on = new Map(document.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  for (const ref of reached) for (const next of on.get(ref) ?? []) reached.add(next);
  expect(references.filter((ref) => !reached.has(ref))).toEqual([]);
  expect(document.components.map(({ name }) => name)).not.toContain('jest');
});
