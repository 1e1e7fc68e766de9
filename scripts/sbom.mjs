// Runs as `npm run sbom`: prints the production dependencies as a CycloneDX document, from the lock file alone. `npm sbom` reads
// what is installed: it leaves out packages for other platforms and, with `--omit dev`, those that development needs as well.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { nameOfFolder, productionFolders } from './licences-document.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const { packages } = JSON.parse(readFileSync(`${root}package-lock.json`, 'utf8'));
const { name, version, description, license } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const folders = productionFolders(packages);

const reference = (folder) =>
  folder === '' ? `${name}@${version}` : `${nameOfFolder(folder)}@${packages[folder].version}`;
const purl = (folder) => `pkg:npm/${reference(folder).replace(/^@/, '%40')}`;

/** The folder that Node would load a dependency of this folder from, or undefined if it is not installed in production. */
function resolved(folder, dependency) {
  const own = `${folder === '' ? '' : `${folder}/`}node_modules/${dependency}`;
  if (folders.includes(own)) return own;
  if (folder === '') return undefined;
  return resolved(folder.slice(0, Math.max(folder.lastIndexOf('node_modules/') - 1, 0)), dependency);
}

function dependsOn(folder) {
  const { dependencies, optionalDependencies, peerDependencies } = packages[folder];
  const names = Object.keys({ ...peerDependencies, ...optionalDependencies, ...dependencies });
  const found = names.map((dependency) => resolved(folder, dependency)).filter((of) => of !== undefined);
  return [...new Set(found.map(reference))].sort();
}

/** The lock file has "sha512-" and Base64, CycloneDX hexadecimal digits. */
function hashes(integrity) {
  const [algorithm, value] = integrity.split('-');
  return [{ alg: algorithm.replace('sha', 'SHA-'), content: Buffer.from(value, 'base64').toString('hex') }];
}

const component = (folder) => ({
  'bom-ref': reference(folder),
  type: 'library',
  name: nameOfFolder(folder),
  version: packages[folder].version,
  scope: packages[folder].optional ? 'optional' : 'required',
  hashes: hashes(packages[folder].integrity),
  licenses: [{ license: { id: packages[folder].license } }],
  purl: purl(folder),
});

/** One version of a package may be in several folders, with dependencies of other versions. */
function dependencyGraph() {
  const graph = new Map();
  for (const folder of ['', ...folders]) {
    const ref = reference(folder);
    graph.set(ref, [...new Set([...(graph.get(ref) ?? []), ...dependsOn(folder)])]);
  }
  return [...graph].map(([ref, on]) => ({ ref, dependsOn: on }));
}

const document = {
  $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.5',
  serialNumber: `urn:uuid:${randomUUID()}`,
  version: 1,
  metadata: {
    component: {
      'bom-ref': reference(''),
      type: 'application',
      name,
      version,
      description,
      licenses: [{ license: { id: license } }],
      purl: purl(''),
    },
  },
  components: [...new Map(folders.map((folder) => [reference(folder), component(folder)])).values()],
  dependencies: dependencyGraph(),
};
process.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
