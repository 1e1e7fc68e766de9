import { request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import type { Settings } from '../../kernel/settings/settings.js';
import { type Finding, failed, passed } from './check.js';

const READINESS_TIMEOUT_MS = 2_000;

export async function service(settings: Settings): Promise<Finding> {
  if (settings.port === 0) return passed('not checked: PORT is 0, so the port is unknown');
  const address = `${settings.host}:${settings.port}`;
  const response = await readReadiness(settings);
  if (response === undefined) return passed(`not running on ${address}`);
  const body = parseReadiness(response.body);
  if (!body) return failed(`another program listens on ${address}`, 'Stop it, or set PORT to another port.');
  if (body.ok) return passed(`ready on ${address}`);
  return failed(`not ready on ${address}: ${response.body}`, "See the service's log output and the checks above.");
}

/** Undefined if nothing listens on the port. */
function readReadiness({ host, port, tlsCert }: Settings): Promise<{ body: string } | undefined> {
  // A service that listens on all interfaces also listens on loopback.
  const hostname = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  const options = { hostname, port, path: '/readyz', timeout: READINESS_TIMEOUT_MS, agent: false };
  return new Promise((resolve, reject) => {
    // The certificate is for the customer's host, not for this address. The request carries no secret.
    const request = tlsCert ? requestTls({ ...options, rejectUnauthorized: false }) : requestPlain(options);
    request.on('response', (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (part) => {
        body += part;
        if (body.length > 64 * 1024) response.destroy();
      });
      response.on('close', () => resolve({ body }));
    });
    request.on('timeout', () => request.destroy(new Error(`${host}:${port} accepts connections but does not respond`)));
    request.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNREFUSED' ? resolve(undefined) : reject(error),
    );
    request.end();
  });
}

function parseReadiness(body: string): { ok: boolean } | undefined {
  try {
    const { ok, log } = JSON.parse(body);
    return typeof ok === 'boolean' && log ? { ok } : undefined;
  } catch {
    return undefined;
  }
}
