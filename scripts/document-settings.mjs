// Runs as `npm run docs:settings`: writes docs/settings.md from the definitions of the settings.
import { writeFileSync } from 'node:fs';
import { settingsDocument } from '../dist/kernel/settings/settings-document.js';
import { SIGN_IN_PLATFORMS } from '../dist/platforms/index.js';

writeFileSync(new URL('../docs/settings.md', import.meta.url), settingsDocument(SIGN_IN_PLATFORMS));
