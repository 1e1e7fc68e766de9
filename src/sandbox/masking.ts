const MASK = '***';
const SECRET_NAME = /auth|token|secret|cookie|password|(api|write|access)[-_]?key/i;
/** Secrets in JSON and in forms; the value may be cut off. */
const SECRET_IN_JSON = /("(?:access_token|refresh_token|id_token|client_secret|api_secret|writeKey)"\s*:\s*")[^"]*/g;
const SECRET_IN_FORM = /((?:^|&)(?:access_token|refresh_token|client_secret|code|assertion)=)[^&]*/g;

/** The sandbox's page and ledger must not show the credentials that were sent to it. */
export function maskedHeaders(headers: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const masked: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) masked[name] = SECRET_NAME.test(name) ? MASK : value;
  }
  return masked;
}

export function maskedQuery(query: URLSearchParams): Record<string, string> {
  const masked: Record<string, string> = {};
  for (const [name, value] of query) masked[name] = SECRET_NAME.test(name) ? MASK : value;
  return masked;
}

export function maskedBody(body: string): string {
  return body.trimStart().startsWith('{')
    ? body.replace(SECRET_IN_JSON, `$1${MASK}`)
    : body.replace(SECRET_IN_FORM, `$1${MASK}`);
}
