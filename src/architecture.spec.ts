import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** Folders by layer, lowest first. A folder may import from lower layers and from itself; files directly in `src` import anything. */
const LAYERS = [
  ['kernel'],
  ['http', 'postgres', 'tracing'],
  ['platforms', 'sources'],
  ['dashboard', 'events', 'tag'],
  ['log'],
  ['sites', 'kafka', 'users'],
  ['checkpoints'],
  ['delivery'],
  ['visitors', 'authorizations'],
  ['conversions', 'outbound'],
  ['history', 'statistics'],
  ['backup', 'jobs', 'moves'],
  ['operations', 'sandbox', 'kafka-broker'],
  ['app'],
  ['cli', 'admin'],
];

/** Source files directly in one folder. More are divided by topic. */
const FOLDER_FILES_MAX = 35;

const src = join(process.cwd(), 'src');
const sources = readdirSync(src, { recursive: true })
  .map(String)
  .filter((file) => /\.(?:tsx?|mjs|cjs|sql|css)$/.test(file) && !file.endsWith('.spec.ts'));
const files = sources.filter((file) => file.endsWith('.ts'));
const text = (file: string) => readFileSync(join(src, file), 'utf8');
const folderOf = (file: string) => (file.includes('/') ? (file.split('/')[0] as string) : '');
const layerOf = (folder: string) => {
  const layer = LAYERS.findIndex((folders) => folders.includes(folder));
  return layer === -1 ? LAYERS.length : layer;
};

/** The files that a file imports, types included. */
function importsOf(file: string): string[] {
  const targets = [...text(file).matchAll(/(?:from|import) '(\.{1,2}\/[^']+)'/g)].map(([, target]) => target as string);
  const paths = targets.map((target) => relative(src, join(src, dirname(file), target)).replace(/\.js$/, ''));
  return paths.map((path) => [`${path}.ts`, `${path}.tsx`].find((target) => sources.includes(target)) ?? path);
}

describe('architecture', () => {
  it('assigns a layer to every folder', () => {
    const folders = new Set(files.map(folderOf).filter((folder) => folder !== ''));
    expect([...folders].filter((folder) => layerOf(folder) === LAYERS.length)).toEqual([]);
  });

  it('imports from lower layers only', () => {
    const upward: string[] = [];
    for (const file of files) {
      for (const imported of importsOf(file)) {
        const [here, there] = [folderOf(file), folderOf(imported)];
        if (here !== there && layerOf(there) >= layerOf(here)) upward.push(`${file} → ${imported}`);
      }
    }
    expect(upward).toEqual([]);
  });

  it('has no circle of imports between files', () => {
    // Without the files that import, or are imported by, none of the others, only circles and what connects them is left.
    const left = new Map(sources.filter((file) => /\.tsx?$/.test(file)).map((file) => [file, importsOf(file)]));
    for (let before = -1; before !== left.size; ) {
      before = left.size;
      const imported = new Set([...left.values()].flat());
      for (const [file, imports] of left)
        if (!imported.has(file) || !imports.some((target) => left.has(target))) left.delete(file);
    }
    expect([...left.keys()]).toEqual([]);
  });

  it('has no folder with more than 35 source files', () => {
    const counts = new Map<string, number>();
    for (const folder of sources.map(dirname)) counts.set(folder, (counts.get(folder) ?? 0) + 1);
    expect([...counts].filter(([, count]) => count > FOLDER_FILES_MAX)).toEqual([]);
  });

  it('queries the events table in log/ only', () => {
    const asking = files.filter((file) => /FROM cc\.events|INTO cc\.events/.test(text(file)));
    expect(asking.filter((file) => !file.startsWith('log/') && !file.startsWith('postgres/migrations/'))).toEqual([]);
  });

  it('judges nothing by the wall clock of the process', () => {
    const reading = files.filter((file) => /Date\.now|new Date\(\)/.test(text(file)));
    expect(reading.filter((file) => !/^(?:tag\/browser|dashboard\/browser|sandbox)\//.test(file)).sort()).toEqual([
      // Only where an answer has no date of its own.
      'http/retry-after.ts',
      // Ids begin with the time, for the index on them.
      'kernel/uuid.ts',
      'platforms/x/verdict.ts',
      'postgres/database-clock.ts',
    ]);
  });

  it('loads OpenTelemetry only when a collector is configured', () => {
    const importing = (pattern: RegExp) => files.filter((file) => pattern.test(text(file)));
    expect(importing(/^import (?!type)[^;]*'@opentelemetry/m)).toEqual(['tracing/otlp-tracing.ts']);
    expect(importing(/from '.*otlp-tracing\.js'/)).toEqual([]);
    expect(importing(/await import\('\.\/otlp-tracing\.js'\)/)).toEqual(['tracing/open-tracing.ts']);
  });

  it('keeps NestJS, TypeORM and business terms out of log/', () => {
    for (const file of files.filter((file) => file.startsWith('log/'))) {
      const code = text(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
      expect(code).not.toMatch(/from '(typeorm|@nestjs)/);
      expect(code).not.toMatch(/conversion|platform|consent/i);
    }
  });
});
