import { hash } from 'node:crypto';
import { parseDurationMs } from '../../kernel/durations.js';
import type { Conversion } from '../conversion.js';
import { mappedEvent } from '../event-mapping.js';
import { visibleAscii } from '../fields.js';
import type { PersonIdentifier } from '../manifest.js';
import { withholdsPersonal } from '../payload-fields.js';
import type { Connection, Field, Payload, Platform, Settings, Skip } from '../platform.js';
import { compileAnswers } from './answers.js';
import type { Definition } from './definition-schema.js';
import { compileRequests } from './requests.js';
import { compileTemplate, type Path, type Report } from './template.js';
import { checkElement, checkValue, valuesOf } from './values.js';

/** The setting of a connection that holds its definition, as JSON. It is not set by people. */
export const DEFINITION = 'definition';

const PERSON_IDENTIFIERS: ReadonlySet<string> = new Set<PersonIdentifier>([
  'email',
  'phone',
  'external_id',
  'click_id',
]);

/** By which people recognise a version of a definition. */
export function digestOf(text: string): string {
  return hash('sha256', text).slice(0, 12);
}

export interface Problem {
  readonly path: Path;
  readonly text: string;
}

interface Compiled {
  readonly platform: Platform;
  readonly problems: readonly Problem[];
}

/** By their text, of which there are few: every delivery asks for its own. */
const compiled = new Map<string, Platform>();

/** The platform that a definition describes; undefined if this version cannot read it. */
export function definedPlatform(text: string): Platform | undefined {
  const known = compiled.get(text);
  if (known) return known;
  try {
    const { platform, problems } = compileDefinition(JSON.parse(text) as Definition, text);
    if (problems.length > 0) return undefined;
    compiled.set(text, platform);
    return platform;
  } catch {
    return undefined;
  }
}

/** The version of a definition that settings were made for; the platform itself if it is built in. */
export function versionOf<Part extends Pick<Platform, 'definition'>>(
  platform: Part,
  { [DEFINITION]: text }: Settings,
): Part | Platform {
  return text === undefined || text === platform.definition ? platform : (definedPlatform(text) ?? platform);
}

/**
 * A definition as a platform. A payload is built by the definition in the settings that it is built with, which may be an earlier one
 * than the platform's; a request by that in the settings of its connection.
 */
export function compileDefinition(definition: Definition, text = JSON.stringify(definition)): Compiled {
  const problems: Problem[] = [];
  const report: Report = (path, problem) => problems.push({ path, text: problem });
  const own = new OwnParts(definition, report);
  const partsOf = (settings: Settings): OwnParts => {
    const other = settings[DEFINITION];
    if (other === undefined || other === text) return own;
    return ownParts.get(definedPlatform(other) as Platform) ?? own;
  };
  const verdict = compileAnswers(definition, report);
  const { name, label = name, settings, identifiers, batch, dedup_window: dedupWindow, age_max: ageMax } = definition;
  const { rate_limit: rateLimit } = definition;
  const limits = {
    ...(dedupWindow !== undefined && { dedupWindowMs: parseDurationMs(dedupWindow) }),
    ...(ageMax !== undefined && { ageMaxMs: parseDurationMs(ageMax) }),
  };
  const platform: Platform = {
    name,
    label,
    definition: text,
    sufficient: identifiers.filter((identifier): identifier is PersonIdentifier => PERSON_IDENTIFIERS.has(identifier)),
    fields: Object.entries(settings).map(([field, setting]) => fieldOf(field, setting)),
    demo: Object.fromEntries(
      Object.entries(settings).flatMap(([field, { required }]) => (required ? [[field, `sandbox-${name}`]] : [])),
    ),
    customerAddress: true,
    // A delivery that may have been accepted keeps its definition and its address.
    account: [DEFINITION, ...Object.keys(settings).filter((field) => !settings[field]?.secret)],
    batchMax: batch?.max ?? 1,
    ...(rateLimit && { rateLimit: { requests: rateLimit.requests, perMs: parseDurationMs(rateLimit.per) } }),
    eventNames: new Map(Object.entries(definition.events)),
    untested: 'A definition has no test mode: only the settings were checked.',
    limits: () => limits,
    check: (connection) => own.check(connection),
    baseUrl: (values) => partsOf(values).baseUrl(values),
    takesAnonymous: (values) => partsOf(values).definition.consent === 'anonymous',
    payload: (conversion, values) => partsOf(values).payload(conversion, values),
    request: (items, call) => partsOf(call.connection.settings).request(items, call),
    verdict,
    ...(own.token && { token: (connection: Connection) => partsOf(connection.settings).token?.(connection) }),
  };
  ownParts.set(platform, own);
  return { platform, problems };
}

const ownParts = new WeakMap<Platform, OwnParts>();

/** What depends on the version of the definition. */
class OwnParts {
  private readonly render: (values: unknown) => unknown;
  private readonly requests: ReturnType<typeof compileRequests>;

  constructor(
    readonly definition: Definition,
    report: Report,
  ) {
    const { settings, body, consent } = definition;
    const plain = Object.keys(settings).filter((name) => !settings[name]?.secret);
    this.render = compileTemplate(body, ['body'], { report, check: checkValue(plain), checkElement });
    if (typeof body !== 'object' || Array.isArray(body)) report(['body'], 'must be an object');
    if (consent === 'marked' && !/"[^"]*\/(?:consent|personalization|stated_consent)\b/.test(JSON.stringify(body)))
      report(['consent'], 'is "marked", but the body does not read /consent');
    this.requests = compileRequests(definition, report);
  }

  get token() {
    const { token } = this.requests;
    return token && ((connection: Connection) => token(this.withDefaults(connection)));
  }

  check(connection: Connection): string | undefined {
    return this.requests.check(this.withDefaults(connection));
  }

  baseUrl(settings: Settings): string {
    return this.requests.baseUrl(this.settingsOf(settings));
  }

  request(...[items, call]: Parameters<Platform['request']>): ReturnType<Platform['request']> {
    return this.requests.request(items, { ...call, connection: this.withDefaults(call.connection) });
  }

  payload(conversion: Conversion, settings: Settings): Payload | Skip {
    const { consent, events, other_events: others, value_required: valueRequired } = this.definition;
    const isAnonymous = conversion.isAnonymous === true || (consent === 'anonymous' && withholdsPersonal(conversion));
    if (consent === 'skip' && withholdsPersonal(conversion)) return { skip: 'consent_denied' };
    const named = Object.hasOwn(events, conversion.event) ? events[conversion.event] : undefined;
    const event = mappedEvent(settings, conversion.event) ?? named;
    if (event === undefined && others === 'skip') return { skip: 'event_not_mapped' };
    if (valueRequired && conversion.value === undefined) return { skip: 'value_required' };
    if (!isAnonymous && !this.isIdentified(conversion)) return { skip: 'no_identifier' };
    const values = valuesOf(conversion, this.settingsOf(settings), event ?? conversion.event, isAnonymous);
    return { item: (this.render(values) as object | undefined) ?? {} };
  }

  private isIdentified({ hashes, externalId, visit, clickIds }: Conversion): boolean {
    const { identifiers } = this.definition;
    if (identifiers.length === 0) return true;
    const has: Readonly<Record<string, boolean>> = {
      email: Boolean(hashes.subject),
      phone: Boolean(hashes.phone),
      external_id: Boolean(externalId),
      click_id: Object.keys({ ...visit?.clicks, ...clickIds }).length > 0,
      visitor: Boolean(visit?.visitorId),
    };
    const isClicked = (identifier: string) =>
      visit !== undefined && Object.hasOwn(visit.clicks, identifier.slice('/clicks/'.length));
    return identifiers.some((identifier) => has[identifier] ?? isClicked(identifier));
  }

  private withDefaults(connection: Connection): Connection {
    return { ...connection, settings: this.settingsOf(connection.settings) };
  }

  private settingsOf(settings: Settings): Settings {
    const defaults = Object.entries(this.definition.settings).flatMap(([name, { default: value }]) =>
      value === undefined ? [] : [[name, value] as const],
    );
    return { ...Object.fromEntries(defaults), ...settings };
  }
}

function fieldOf(name: string, { help, secret, required, default: fallback }: Definition['settings'][string]): Field {
  return {
    name,
    help,
    ...(secret && { secret, check: visibleAscii }),
    ...(required && { required }),
    ...(fallback !== undefined && { fallback }),
  };
}
