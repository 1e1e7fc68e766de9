// The licences of what is installed with the package, as its lock file names them.

/** Permit use and distribution, with a notice at most. A dependency with another licence needs a decision first. */
export const PERMITTED = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Python-2.0',
  'Unlicense',
];

export const nameOfFolder = (folder) => folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);

/** The folders of the lock file that are installed with the package. */
export const productionFolders = (packages) =>
  Object.keys(packages).filter((folder) => {
    const { dev, devOptional } = packages[folder];
    // TypeScript is an optional companion of a dependency, and installed for development only.
    return folder !== '' && !dev && !devOptional;
  });

/** Name, version and licence of each production dependency, sorted. */
export function productionDependencies({ packages }) {
  const found = new Map();
  for (const folder of productionFolders(packages)) {
    const { version, license } = packages[folder];
    const name = nameOfFolder(folder);
    found.set(`${name} ${version}`, { name, version, licence: license });
  }
  return [...found.keys()].sort().map((key) => found.get(key));
}

/** What the build of the dashboard copies into the package. */
const BUILT_IN = [
  '@fontsource-variable/inter',
  'lucide',
  'openapi-fetch',
  'preact',
  'preact-iso',
  'simple-icons',
  'uplot',
];

const rowsOf = (dependencies) =>
  dependencies.map(({ name, version, licence }) => `| ${name} | ${version} | ${licence} |`).join('\n');

export function licencesDocument(lock) {
  const dependencies = productionDependencies(lock);
  const builtIn = BUILT_IN.map((name) => {
    const { version, license } = lock.packages[`node_modules/${name}`];
    return { name, version, licence: license };
  });
  return `# Licences of the dependencies

<!-- Generated from package-lock.json by "npm run docs:licences". -->

The package contains or installs ${dependencies.length} dependencies. The embedded PostgreSQL is one package for each platform, of which one is installed.
The list as a CycloneDX document (SBOM): \`npm run -s sbom\`.

| dependency | version | licence |
| --- | --- | --- |
${rowsOf(dependencies)}

The dashboard contains parts of these:

| dependency | version | licence |
| --- | --- | --- |
${rowsOf(builtIn)}
`;
}
