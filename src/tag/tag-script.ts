import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

/** What a site's settings say about its tag. */
export interface TagConfig {
  /** Nothing is kept or sent before the visitor says yes. */
  readonly required: boolean;
  /** The email is taken from forms that are submitted. */
  readonly capture: boolean;
  /** How long the browser keeps what it knows. */
  readonly days: number;
}

export interface TagScript {
  readonly body: string;
  /** The same, compressed. */
  readonly gzip: Buffer;
  readonly etag: string;
}

/** The same place from the sources and from the build. */
const BUILT = new URL('../../dist/tag/tag.js', import.meta.url);
const scripts = new Map<string, TagScript>();
let built: string | undefined;

/** The browser tag for a site, as it is served. Sites with equal settings share one. */
export function tagScript({ required, capture, days }: TagConfig): TagScript {
  const config = JSON.stringify({ required, capture, days });
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
    built ??= readFileSync(BUILT, 'utf8');
    return built;
  } catch (error) {
    throw new Error('The browser tag is not built (dist/tag/tag.js is missing). Run `npx nest build`.', {
      cause: error,
    });
  }
}
