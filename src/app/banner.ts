export interface Demo {
  readonly key: string;
  /** Where the demo site's conversions go. */
  readonly sandboxUrl: string | undefined;
}

/** What a person sees when the service is up. The line at its end works when pasted. */
export function bannerText(url: string, demo: Demo | undefined): string {
  const base = url.replace('127.0.0.1', 'localhost').replace('[::1]', 'localhost');
  const lines = ['', `  Clean Conversions listens on ${base}`, ''];
  if (!demo) {
    lines.push('  Add a site:   npm run cc -- sites add <host>      then: inbound enable, keys create', '');
  } else {
    lines.push(
      '  A demo site answers on localhost. Post a conversion to it:',
      '',
      `curl ${base}/__cc/inbound -H 'X-CC-Api-Key: ${demo.key}' -H 'Content-Type: application/json' ` +
        `-d '{"email":"jane@example.com","event":"purchase","value":129.9,"currency":"EUR","orderId":"ORD-'$(date +%s)'"}'`,
      '',
    );
    if (demo.sandboxUrl) lines.push(`  What its twelve platforms (a sandbox) received: ${demo.sandboxUrl}`, '');
  }
  lines.push(`  API documents: ${base}/docs    Stop: Ctrl-C`, '');
  return `${lines.join('\n')}\n`;
}
