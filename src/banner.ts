/** What a person sees when the service is up. The line at its end works when pasted. */
export function bannerText(url: string, demoKey: string | undefined): string {
  const base = url.replace('127.0.0.1', 'localhost').replace('[::1]', 'localhost');
  const lines = ['', `  Clean Conversions listens on ${base}`, ''];
  if (demoKey === undefined) {
    lines.push('  Add a site:   npm run cc -- sites add <host>      then: inbound enable, keys create', '');
  } else {
    lines.push(
      '  A demo site answers on localhost. Post a conversion to it:',
      '',
      `curl ${base}/__cc/inbound -H 'X-CC-Api-Key: ${demoKey}' -H 'Content-Type: application/json' ` +
        `-d '{"email":"jane@example.com","event":"purchase","value":129.9,"currency":"EUR","orderId":"ORD-'$(date +%s)'"}'`,
      '',
    );
  }
  lines.push(`  API documents: ${base}/docs    Stop: Ctrl-C`, '');
  return `${lines.join('\n')}\n`;
}
