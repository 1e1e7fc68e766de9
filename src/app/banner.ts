import type { Settings } from '../kernel/settings/settings.js';

export interface Demo {
  /** Undefined if an operator has revoked it or removed the site. */
  readonly key: string | undefined;
  /** URL of the sandbox that stands in for the platforms. Undefined if there is none. */
  readonly sandboxUrl: string | undefined;
}

/** What an operator has to add before the service is of use. */
export interface Missing {
  readonly sites: boolean;
  /** Of the dashboard, where no link to add the first one is shown. */
  readonly users: boolean;
}

export interface BannerContent {
  readonly url: string;
  readonly demo: Demo | undefined;
  readonly dashboardUrl: string | undefined;
  readonly missing: Missing;
  /** How the command line is run here. */
  readonly cliCommand: string;
}

/** The text that `npm start` prints once the service is up. The curl line works when pasted into a shell. */
export function bannerText(
  { url, demo, dashboardUrl, missing, cliCommand }: BannerContent,
  firstLink?: string,
): string {
  const base = url.replace('127.0.0.1', 'localhost').replace('[::1]', 'localhost');
  const lines = [''];
  if (firstLink !== undefined)
    lines.push('  Open this link to create the first administrator, once, within 24 hours:', `    ${firstLink}`, '');
  else if (dashboardUrl !== undefined) lines.push(`  Dashboard: ${dashboardUrl}`);
  lines.push(`  Clean Conversions listens on ${base}`, '');
  if (missing.users)
    lines.push(
      '  There is no user of the dashboard. Add one, and open the link that is printed:',
      `    ${addUserCommand(cliCommand)}`,
      '',
    );
  if (!demo?.key && missing.sites) {
    lines.push(
      '  There is no site. Add one and create an API key:',
      `    ${cliCommand} sites add <host>`,
      `    ${cliCommand} inbound enable <host>`,
      `    ${cliCommand} keys create --site <host> --name <label>`,
      '',
    );
  }
  if (demo?.key) {
    lines.push(
      '  Send a conversion to the demo site. Paste this line into another terminal:',
      '',
      `curl ${base}/__cc/inbound -H 'X-CC-Api-Key: ${demo.key}' -H 'Content-Type: application/json' ` +
        `-d '{"email":"jane@example.com","event":"purchase","value":129.9,"currency":"EUR","orderId":"ORD-'$(date +%s)'"}'`,
      '',
    );
  }
  if (demo?.sandboxUrl) lines.push(`  See what the twelve sandbox platforms received: ${demo.sandboxUrl}`, '');
  lines.push(`  Documentation: ${base}/docs/guide    API: ${base}/docs    Stop: Ctrl-C`, '');
  return `${lines.join('\n')}\n`;
}

export const addUserCommand = (cliCommand: string) => `${cliCommand} users add <email> --role admin`;

/** Undefined if there is none, or if it chooses a port when it starts. */
export function dashboardUrl({ adminUrl, adminPort }: Pick<Settings, 'adminUrl' | 'adminPort'>): string | undefined {
  if (adminPort === undefined) return undefined;
  return adminUrl ?? (adminPort === 0 ? undefined : `http://localhost:${adminPort}`);
}
