import { type Behaviours, isMode, parseBehaviour } from './behaviour.js';
import { isObject, jsonAnswer, parseJson } from './checks.js';
import type { Memory, Order, PlatformDouble, SandboxAnswer } from './double.js';
import { isSelected, type Ledger, type Selection } from './ledger.js';
import { PAGE } from './page.js';

/** What the control API works on. */
export interface Controlled {
  readonly doubles: ReadonlyMap<string, PlatformDouble>;
  readonly ledger: Ledger;
  readonly behaviours: Behaviours;
  memoryOf(platform: string, tenant: string): Memory;
  memories(): Iterable<{ readonly platform: string; readonly tenant: string; readonly memory: Memory }>;
}

/** Answers what is asked of the sandbox itself: its page, what it received, how it shall behave. */
export function controlAnswer(
  controlled: Controlled,
  method: string,
  path: string,
  query: URLSearchParams,
  body: string,
): SandboxAnswer {
  switch (path) {
    case '/':
      return method === 'GET' ? pageAnswer() : notAllowed('GET');
    case '/ledger':
      return ledgerAnswer(controlled, method, query);
    case '/behave':
      return behaveAnswer(controlled, method, query, body);
    default:
      return wrong(404, `Nothing is here. Platforms: ${names(controlled, '/')}. The sandbox: /, /ledger, /behave.`);
  }
}

function pageAnswer(): SandboxAnswer {
  return {
    status: 200,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'",
    },
    body: PAGE,
  };
}

function ledgerAnswer(controlled: Controlled, method: string, query: URLSearchParams): SandboxAnswer {
  const selection = selectionOf(controlled, query);
  if (typeof selection === 'string') return wrong(400, selection);
  if (method === 'GET') return jsonAnswer(200, controlled.ledger.view(selection, query.get('ids') !== 'no'));
  if (method !== 'DELETE') return notAllowed('GET, DELETE');
  controlled.ledger.forget(selection);
  return jsonAnswer(200, { ok: true });
}

function behaveAnswer(controlled: Controlled, method: string, query: URLSearchParams, body: string): SandboxAnswer {
  if (method === 'POST') return orderAnswer(controlled, parseJson(body));
  const selection = selectionOf(controlled, query);
  if (typeof selection === 'string') return wrong(400, selection);
  if (method === 'DELETE') {
    controlled.behaviours.clear(selection);
    for (const { platform, tenant, memory } of controlled.memories()) {
      if (isSelected(selection, platform, tenant)) controlled.doubles.get(platform)?.control?.({ mode: 'ok' }, memory);
    }
  } else if (method !== 'GET') return notAllowed('GET, POST, DELETE');
  return inForce(controlled);
}

function orderAnswer(controlled: Controlled, order: unknown): SandboxAnswer {
  const platform = isObject(order) ? order['platform'] : undefined;
  const double = typeof platform === 'string' ? controlled.doubles.get(platform) : undefined;
  if (typeof platform === 'string' && double === undefined) {
    return wrong(400, `There is no platform of that name. Use one of ${names(controlled)}.`);
  }
  if (isObject(order) && double?.control !== undefined && typeof order['mode'] === 'string' && !isMode(order['mode'])) {
    const memory = controlled.memoryOf(double.name, String(order['tenant'] ?? 'default'));
    const problem = double.control(order as unknown as Order, memory);
    return problem === undefined ? inForce(controlled) : wrong(400, problem);
  }
  const behaviour = parseBehaviour(order);
  if (typeof behaviour === 'string') return wrong(400, behaviour);
  controlled.behaviours.set(behaviour);
  if (behaviour.mode === 'ok') {
    double?.control?.({ mode: 'ok' }, controlled.memoryOf(behaviour.platform, behaviour.tenant));
  }
  return inForce(controlled);
}

function inForce({ behaviours }: Controlled): SandboxAnswer {
  return jsonAnswer(200, { ok: true, behaviours: behaviours.list() });
}

function selectionOf(controlled: Controlled, query: URLSearchParams): Selection | string {
  const platform = query.get('platform') || undefined;
  if (platform !== undefined && !controlled.doubles.has(platform)) {
    return `There is no platform of that name. Use one of ${names(controlled)}.`;
  }
  return { platform, tenant: query.get('tenant') || undefined };
}

function names({ doubles }: Controlled, before = ''): string {
  return [...doubles.keys()].map((name) => before + name).join(', ');
}

function wrong(status: number, error: string): SandboxAnswer {
  return jsonAnswer(status, { ok: false, error });
}

function notAllowed(allow: string): SandboxAnswer {
  const answer = wrong(405, `Use ${allow}.`);
  return { ...answer, headers: { ...answer.headers, allow } };
}
