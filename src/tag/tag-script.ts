import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { TAG_NAMES } from '../platforms/click-ids.js';

/** The site settings that the tag needs. */
export interface TagConfig {
  /** Store and send nothing before the visitor grants consent. */
  readonly required: boolean;
  /** Read the email address from submitted forms. */
  readonly capture: boolean;
  /** How long the browser stores the visitor record. */
  readonly days: number;
  /** Say with a statement about consent which clicks it is about: conversions are matched by them. */
  readonly clicks?: boolean;
}

export interface TagScript {
  readonly body: string;
  /** The compressed body. */
  readonly gzip: Buffer;
  readonly etag: string;
}

/** Resolves to the same file from `src` and from `dist`. */
const BUILT = new URL('../../dist/tag/tag.js', import.meta.url);
const scripts = new Map<string, TagScript>();
let built: string | undefined;

/** The browser tag as served to a site. Sites with equal settings share one script. */
export function tagScript({ required, capture, days, clicks }: TagConfig): TagScript {
  const config = JSON.stringify({ required, capture, days, ...(clicks && { clicks }) });
  let script = scripts.get(config);
  if (!script) {
    const body = builtTag().replace('__CC_CONFIG__', config);
    script = { body, gzip: gzipSync(body, { level: 9 }), etag: `"${hash('sha256', body).slice(0, 32)}"` };
    scripts.set(config, script);
  }
  return script;
}

function builtTag(): string {
  try {
    built ??= readFileSync(BUILT, 'utf8').replace('__CC_NAMES__', JSON.stringify(TAG_NAMES));
    return built;
  } catch (error) {
    throw new Error('The browser tag is not built (dist/tag/tag.js is missing). Run `npx nest build`.', {
      cause: error,
    });
  }
}
