// The specs of src/tag read dist/tag/tag.js. Building the tag alone takes a fraction of a second.
import { fileURLToPath } from 'node:url';
import tagPlugin from '../src/tag/build-tag.cjs';

export default function buildTag() {
  const outDir = fileURLToPath(new URL('../dist', import.meta.url));
  tagPlugin.before({}, { getCompilerOptions: () => ({ outDir }) });
}
