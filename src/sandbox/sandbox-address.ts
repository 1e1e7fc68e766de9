/** The parts of `/<platform>[@<tenant>]/<path at the platform>`. */
export interface SandboxAddress {
  readonly platform: string;
  readonly tenant: string;
  /** With the query; always starts with a slash or a question mark. */
  readonly rest: string;
}

export function addressParts(url: string): SandboxAddress {
  const end = url.slice(1).search(/[/?]/) + 1;
  const base = decoded(end === 0 ? url.slice(1) : url.slice(1, end));
  const at = base.indexOf('@');
  return {
    platform: at < 0 ? base : base.slice(0, at),
    tenant: (at < 0 ? '' : base.slice(at + 1)) || 'default',
    rest: end === 0 ? '/' : url.slice(end),
  };
}

/** Clients may encode the `@` as `%40`. */
function decoded(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
