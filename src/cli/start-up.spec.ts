import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const src = join(process.cwd(), 'src');

/** Packages that a module loads when it starts, directly or through the modules it imports. Skips type-only imports. */
function packagesLoadedBy(file: string, seen = new Set<string>()): string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  const text = readFileSync(file, 'utf8');
  const imports = [...text.matchAll(/^(?:import|export) (?!type )(?:[^;']* from )?'([^']+)';/gm)].map(
    ([, target]) => target as string,
  );
  return imports.flatMap((target) =>
    target.startsWith('.') ? packagesLoadedBy(join(dirname(file), target.replace(/\.js$/, '.ts')), seen) : [target],
  );
}

it('the service loads Nest, so the search works', () => {
  expect(packagesLoadedBy(join(src, 'main.ts')).filter((loaded) => loaded.startsWith('@nestjs/'))).not.toEqual([]);
});

it.each(['@nestjs/', 'typeorm', 'rxjs'])('the command line does not load %s when it starts', (name) => {
  const packages = packagesLoadedBy(join(src, 'cli/run-cli.ts'));
  expect(packages).toContain('commander');
  expect(packages.filter((loaded) => loaded.startsWith(name))).toEqual([]);
});
