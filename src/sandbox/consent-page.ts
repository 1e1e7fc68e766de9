import type { SandboxAnswer, SandboxRequest } from './double.js';
import { addGrant, type Grant } from './grants.js';

/** The differences between the consent pages of platforms. */
export interface ConsentRules {
  /** Parameters that must have these values. */
  readonly required: Readonly<Record<string, string>>;
  /** The scopes that must be asked for, and what separates them; undefined: the app has them. */
  readonly scopes?: { readonly names: readonly string[]; readonly separator: ' ' | ',' };
  /** The names of two parameters; `client_id` and `code` unless the platform has its own. */
  readonly clientId?: string;
  readonly code?: string;
  /** Whether the platform has PKCE. Another one ignores it. */
  readonly pkce?: true;
}

/** The page on which a person gives an app access to the account. The links end in what tests and curious people need. */
export function consentAnswer({ query, method, memory }: SandboxRequest, rules: ConsentRules): SandboxAnswer {
  const { clientId: idName = 'client_id', code: codeName = 'code' } = rules;
  const problem = method === 'GET' ? problemOf(query, rules, idName) : 'Use GET.';
  if (problem !== undefined) return page(400, `<p>${escaped(problem)}</p>`);
  const clientId = query.get(idName) as string;
  const redirectUri = query.get('redirect_uri') as string;
  const state = query.get('state') as string;
  const challenge = rules.pkce ? (query.get('code_challenge') ?? undefined) : undefined;
  const allow = (kind: Grant['kind']) => ({
    [codeName]: addGrant(memory, { clientId, redirectUri, challenge, kind }),
    state,
  });
  const link = (text: string, parameters: Record<string, string>) =>
    `<li><a href="${escaped(`${redirectUri}?${new URLSearchParams(parameters)}`)}">${text}</a></li>`;
  return page(
    200,
    `<p><b>${escaped(clientId)}</b> asks for access to an account of the sandbox. No real account is involved.</p><ul>
${link('Allow', allow('good'))}
${link('Cancel', { error: 'access_denied', error_description: 'The user denied the request', state })}
</ul><p>To see what happens then:</p><ul>
${link('Refuse with an error', { error: 'server_error', state })}
${link('Allow with a code that has expired', allow('expired'))}
${link('Allow, and revoke the access afterwards', allow('revoked'))}
${link('Allow, and come back with another state', { ...allow('good'), state: `${state.slice(0, -1)}~` })}
</ul>`,
  );
}

function problemOf(query: URLSearchParams, { required, scopes, pkce }: ConsentRules, idName: string) {
  for (const name of [idName, 'redirect_uri', 'state']) if (!query.get(name)) return `Missing parameter: ${name}.`;
  const wrong = Object.entries(required).find(([name, value]) => query.get(name) !== value);
  if (wrong) return `${wrong[0]} must be ${wrong[1]}.`;
  const asked = query.get('scope')?.split(scopes?.separator ?? ' ') ?? [];
  const missing = scopes?.names.find((name) => !asked.includes(name));
  if (missing !== undefined) return `The scope ${missing} is missing.`;
  if (pkce && query.has('code_challenge') && query.get('code_challenge_method') !== 'S256')
    return 'code_challenge_method must be S256.';
  const redirect = query.get('redirect_uri') as string;
  const isUsable = URL.canParse(redirect) && /^https?:$/.test(new URL(redirect).protocol) && !redirect.includes('?');
  return isUsable ? undefined : 'redirect_uri is not a URL.';
}

function page(status: number, body: string): SandboxAnswer {
  const style = 'body{font:16px system-ui;max-width:40rem;margin:3rem auto;padding:0 1rem}li{margin:.5rem 0}';
  return {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
      'referrer-policy': 'no-referrer',
    },
    body: `<!DOCTYPE html><html lang="en"><head><title>Sandbox: give access</title><style>${style}</style></head><body><h1>Give access</h1>${body}</body></html>`,
  };
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
