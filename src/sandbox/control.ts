import { jsonAnswer } from './answers.js';
import { type Behaviours, isMode, parseBehaviour } from './behaviour.js';
import type { Memory, PlatformDouble, SandboxAnswer } from './double.js';
import { isSelected, type Ledger, type Selection } from './ledger.js';
import { PAGE } from './page.js';
import { isObject, parseJson } from './values.js';

/** The state of the sandbox that the control API reads and changes. */
export interface SandboxState {
  readonly doubles: ReadonlyMap<string, PlatformDouble>;
  readonly ledger: Ledger;
  readonly behaviours: Behaviours;
  memoryOf(platform: string, tenant: string): Memory;
  memories(): Iterable<{ readonly platform: string; readonly tenant: string; readonly memory: Memory }>;
}

/** Answers requests to the sandbox itself: its page, its ledger and its behaviour. */
export function controlAnswer(
  state: SandboxState,
  method: string,
  path: string,
  query: URLSearchParams,
  body: string,
): SandboxAnswer {
  switch (path) {
    case '/':
      return method === 'GET' ? pageAnswer() : notAllowed('GET');
    case '/ledger':
      return ledgerAnswer(state, method, query);
    case '/behave':
      return behaveAnswer(state, method, query, body);
    default:
      return errorAnswer(404, `Not found. Platforms: ${names(state, '/')}. Control API: /, /ledger, /behave.`);
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

function ledgerAnswer(state: SandboxState, method: string, query: URLSearchParams): SandboxAnswer {
  const selection = selectionOf(state, query);
  if (typeof selection === 'string') return errorAnswer(400, selection);
  if (method === 'GET') return jsonAnswer(200, state.ledger.view(selection, query.get('ids') !== 'no'));
  if (method !== 'DELETE') return notAllowed('GET, DELETE');
  state.ledger.forget(selection);
  return jsonAnswer(200, { ok: true });
}

function behaveAnswer(state: SandboxState, method: string, query: URLSearchParams, body: string): SandboxAnswer {
  if (method === 'POST') return behaviourAnswer(state, parseJson(body));
  const selection = selectionOf(state, query);
  if (typeof selection === 'string') return errorAnswer(400, selection);
  if (method === 'DELETE') {
    state.behaviours.clear(selection);
    for (const { platform, tenant, memory } of state.memories()) {
      if (isSelected(selection, platform, tenant)) state.doubles.get(platform)?.control?.({ mode: 'ok' }, memory);
    }
  } else if (method !== 'GET') return notAllowed('GET, POST, DELETE');
  return behavioursAnswer(state);
}

function behaviourAnswer(state: SandboxState, request: unknown): SandboxAnswer {
  const platform = isObject(request) ? request['platform'] : undefined;
  const double = typeof platform === 'string' ? state.doubles.get(platform) : undefined;
  if (typeof platform === 'string' && double === undefined) {
    return errorAnswer(400, `Unknown platform. Use one of ${names(state)}.`);
  }
  if (
    isObject(request) &&
    double?.control !== undefined &&
    typeof request['mode'] === 'string' &&
    !isMode(request['mode'])
  ) {
    const memory = state.memoryOf(double.name, String(request['tenant'] ?? 'default'));
    const problem = double.control({ ...request, mode: request['mode'] }, memory);
    return problem === undefined ? behavioursAnswer(state) : errorAnswer(400, problem);
  }
  const behaviour = parseBehaviour(request);
  if (typeof behaviour === 'string') return errorAnswer(400, behaviour);
  state.behaviours.set(behaviour);
  if (behaviour.mode === 'ok') {
    double?.control?.({ mode: 'ok' }, state.memoryOf(behaviour.platform, behaviour.tenant));
  }
  return behavioursAnswer(state);
}

function behavioursAnswer({ behaviours }: SandboxState): SandboxAnswer {
  return jsonAnswer(200, { ok: true, behaviours: behaviours.list() });
}

function selectionOf(state: SandboxState, query: URLSearchParams): Selection | string {
  const platform = query.get('platform') || undefined;
  if (platform !== undefined && !state.doubles.has(platform)) {
    return `Unknown platform. Use one of ${names(state)}.`;
  }
  return { platform, tenant: query.get('tenant') || undefined };
}

function names({ doubles }: SandboxState, prefix = ''): string {
  return [...doubles.keys()].map((name) => prefix + name).join(', ');
}

function errorAnswer(status: number, error: string): SandboxAnswer {
  return jsonAnswer(status, { ok: false, error });
}

function notAllowed(allow: string): SandboxAnswer {
  const answer = errorAnswer(405, `Use ${allow}.`);
  return { ...answer, headers: { ...answer.headers, allow } };
}
