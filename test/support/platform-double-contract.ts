import {
  FAILURE_KINDS,
  type FailureKind,
  type PlatformDouble,
  type SandboxAnswer,
  type SandboxRequest,
} from '../../src/sandbox/double.js';
import { bodyOf, problemsIn, type RequestOptions } from './platform-doubles.js';

/** A status and, if the body is JSON, what it must equal. */
type Expected = readonly [status: number, body?: unknown];
type InvalidField = readonly [field: string, value: unknown, ...expected: readonly unknown[]];

/** The data of one double for the shared tests. A part that is left out does not apply to it or is tested in its spec. */
export interface DoubleContract {
  readonly post: (body: unknown, options?: RequestOptions) => SandboxRequest;
  /** The body of a request with these events. */
  readonly envelope: (events: readonly unknown[]) => unknown;
  /** A valid event with the id `evt-1001`. */
  readonly event: object;
  /** The same event with another id or without one; absent if a request has one event. */
  readonly withId?: (id: string | undefined) => object;
  /** The same event with another body. */
  readonly changed: object;
  /** How the ledger records the event. */
  readonly recorded: { readonly event: string; readonly dedupKey?: string };
  /** The body of the answer when that many events were accepted. */
  readonly accepted: (count: number) => unknown;
  /** Other valid events. */
  readonly variants?: readonly (readonly [name: string, event: object])[];
  /** Events with other deduplication keys, and the length of the window. */
  readonly deduplication: {
    readonly keys: readonly (readonly [event: object, key: string | undefined])[];
    readonly windowMs: number | undefined;
    /** Header changes of a repeat that must not matter. */
    readonly repeat?: RequestOptions;
  };

  /** Invalid fields of the event with the arguments for `expectInvalid`. */
  readonly invalidFields?: readonly InvalidField[];
  /** Invalid fields of objects in the event, each with its path and a function that adds them to the event. */
  readonly invalidNestedFields?: readonly (readonly [
    path: string,
    event: (fields: object) => object,
    rows: readonly InvalidField[],
  ])[];
  readonly expectInvalid?: (answer: SandboxAnswer, ...expected: never[]) => void;
  /** Users whose identifiers do not suffice. */
  readonly insufficientUsers?: {
    readonly users: readonly unknown[];
    readonly event: (user: unknown) => object;
    readonly expected: readonly unknown[];
  };
  /** A batch with a valid event, this event with the id `evt-1002`, and a string is refused as a whole. */
  readonly refusedBatch?: {
    readonly invalid: object;
    readonly problem: string;
    /** The platform's name of an event. */
    readonly itemName: string;
    readonly answer: Expected;
  };
  /** The field whose absence is accepted with a warning. */
  readonly idField?: string;
  /** An event with the personal value `jane…` in invalid fields. */
  readonly personal?: object;

  /** Invalid requests. None of them is recorded. */
  readonly invalidRequests?: readonly (readonly [name: string, request: SandboxRequest, ...Expected])[];
  /** The maximum number of events, and the answer to a larger batch. */
  readonly batchMax?: readonly [max: number, ...Expected];
  /** The answer at each of these URLs. */
  readonly unknownUrls?: readonly [urls: readonly string[], ...Expected];
  readonly getAnswer?: Expected;
  readonly credentials?: readonly (readonly [options: RequestOptions, ...Expected])[];

  readonly failures: Readonly<Partial<Record<FailureKind, Expected>>>;
  /** Failures that refuse all events of the request. */
  readonly refusesAll: readonly FailureKind[];
  /** Whether an answer is a failure; by default its status is an error. */
  readonly isFailure?: (answer: SandboxAnswer) => boolean;
}

/** The tests that the doubles share. */
export function describeDoubleContract(double: PlatformDouble, contract: DoubleContract): void {
  const { post, envelope, event, withId } = contract;
  const send = (...events: unknown[]) => double.answer(post(envelope(events)));

  describe(`double of ${double.name}`, () => {
    describe('with valid events', () => {
      describeValidEvents(contract, send);
      describeDeduplication(double, contract, send);
    });
    describe('with invalid events', () => describeInvalidEvents(contract, send));
    describe('with invalid requests', () => describeInvalidRequests(double, contract, send));
    describe('on demand', () => describeFailures(double, contract, withId ? [event, event] : [event]));
  });
}

type Send = (...events: unknown[]) => SandboxAnswer;

function expectAnswer(answer: SandboxAnswer, [status, body]: Expected): void {
  expect(answer.status).toBe(status);
  if (body !== undefined) expect(bodyOf(answer)).toEqual(body);
}

function describeValidEvents({ event, withId, recorded, accepted, variants = [] }: DoubleContract, send: Send): void {
  it('accepts one event', () => {
    const answer = send(event);
    expectAnswer(answer, [200, accepted(1)]);
    expect(answer.received).toEqual([
      {
        eventId: 'evt-1001',
        problems: [],
        accepted: true,
        bodySha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        ...recorded,
      },
    ]);
  });

  if (withId) {
    it('accepts a batch and records it in its order', () => {
      const answer = send(event, withId('evt-1002'));
      expectAnswer(answer, [200, accepted(2)]);
      expect(answer.received?.map((item) => [item.eventId, item.accepted, item.problems])).toEqual([
        ['evt-1001', true, []],
        ['evt-1002', true, []],
      ]);
    });
  }

  if (variants.length > 0) {
    it.each(variants)('accepts %s', (_, variant) => {
      expect(problemsIn(send(variant))).toEqual([[]]);
      expectAnswer(send(variant), [200, accepted(1)]);
    });
  }
}

function describeDeduplication(double: PlatformDouble, contract: DoubleContract, send: Send): void {
  const { post, envelope, event, changed, accepted, deduplication } = contract;

  it('answers and records a repeat like the first request', () => {
    const repeat = double.answer(post(envelope([event]), deduplication.repeat));
    expectAnswer(repeat, [200, accepted(1)]);
    expect(repeat.received).toEqual(send(event).received);
  });

  it('records that the body of a repeat changed', () => {
    const [first, second] = [send(event).received?.[0], send(changed).received?.[0]];
    expect([second?.eventId, second?.dedupKey]).toEqual([first?.eventId, first?.dedupKey]);
    expect(second?.bodySha256).not.toBe(first?.bodySha256);
  });

  it('deduplicates by the documented key and window', () => {
    for (const [other, key] of deduplication.keys) {
      const item = send(other).received?.[0];
      if (key === undefined) expect(item).not.toHaveProperty('dedupKey');
      else expect(item?.dedupKey).toBe(key);
    }
    expect(double.dedupWindowMs).toBe(deduplication.windowMs);
  });
}

function describeInvalidEvents(contract: DoubleContract, send: Send): void {
  const { event, withId, accepted, insufficientUsers, refusedBatch, idField, personal } = contract;
  const expectInvalid = contract.expectInvalid as (answer: SandboxAnswer, ...expected: readonly unknown[]) => void;

  const groups = [
    ['', (fields: object) => ({ ...event, ...fields }), contract.invalidFields ?? []] as const,
    ...(contract.invalidNestedFields ?? []),
  ];
  for (const [path, eventWith, rows] of groups) {
    for (const [field, value, ...expected] of rows) {
      it(`detects invalid ${path}${field} = ${JSON.stringify(value)}`, () => {
        expectInvalid(send(eventWith({ [field]: value })), ...expected);
      });
    }
  }

  if (insufficientUsers) {
    it.each(insufficientUsers.users.map((user) => [user]))('detects a user identified only by %j', (user) => {
      expectInvalid(send(insufficientUsers.event(user)), ...insufficientUsers.expected);
    });
  }

  if (refusedBatch) {
    it('refuses the valid events of a batch together with the invalid ones', () => {
      const answer = send(event, refusedBatch.invalid, 'x');
      expectAnswer(answer, refusedBatch.answer);
      expect(answer.received?.map(({ eventId, accepted }) => [eventId, accepted])).toEqual([
        ['evt-1001', false],
        ['evt-1002', false],
        ['', false],
      ]);
      expect(problemsIn(answer)).toEqual([[], [refusedBatch.problem], [`${refusedBatch.itemName} is not an object`]]);
    });
  }

  if (idField && withId) {
    it('accepts an event without an id, with a warning', () => {
      const answer = send(withId(undefined));
      expectAnswer(answer, [200, accepted(1)]);
      expect(answer.received).toMatchObject([{ eventId: '', accepted: true }]);
      expect(answer.received?.[0]).not.toHaveProperty('dedupKey');
      expect(problemsIn(answer)).toEqual([[`${idField} is missing: duplicates cannot be detected`]]);
    });
  }

  if (personal) {
    it('never echoes a value', () => {
      expect(JSON.stringify(send(personal))).not.toContain('jane');
    });
  }
}

function describeInvalidRequests(double: PlatformDouble, contract: DoubleContract, send: Send): void {
  const { post, envelope, event, accepted, batchMax, unknownUrls, getAnswer, credentials = [] } = contract;
  const { invalidRequests = [] } = contract;

  function expectRefused(request: SandboxRequest, expected: Expected): void {
    const answer = double.answer(request);
    expectAnswer(answer, expected);
    expect(answer.received).toBeUndefined();
  }

  for (const [name, request, ...expected] of invalidRequests) {
    it(`refuses ${name}`, () => expectRefused(request, expected));
  }

  if (batchMax) {
    const [max, ...expected] = batchMax;
    it(`accepts ${max} events`, () => {
      expectAnswer(send(...Array(max).fill(event)), [200, accepted(max)]);
    });

    it(`refuses ${max + 1} events`, () => {
      expectRefused(post(envelope(Array(max + 1).fill(event))), expected);
    });
  }

  if (unknownUrls) {
    const [urls, ...expected] = unknownUrls;
    it.each(urls)('has nothing at %s', (url) => {
      expectAnswer(double.answer(post(envelope([event]), { url })), expected);
    });
  }

  if (getAnswer) {
    it('refuses GET', () => {
      expectAnswer(double.answer(post('', { method: 'GET' })), getAnswer);
    });
  }

  for (const [options, ...expected] of credentials) {
    it(`answers the credentials ${JSON.stringify(options)} with ${expected[0]}`, () => {
      expectRefused(post(envelope([event]), options), expected);
    });
  }
}

function describeFailures(double: PlatformDouble, contract: DoubleContract, events: readonly unknown[]): void {
  const { post, envelope, failures, refusesAll, isFailure = ({ status }) => status >= 400 } = contract;
  for (const [kind, expected] of Object.entries(failures) as [FailureKind, Expected][]) {
    it(`answers ${kind} with ${expected[0]}`, () => {
      expectAnswer(double.fail(kind, post(envelope(events))), expected);
    });
  }

  it.each(refusesAll)('refuses all events on %s', (kind) => {
    const { received } = double.fail(kind, post(envelope(events)));
    expect(received?.map(({ accepted, problems }) => [accepted, problems])).toEqual(events.map(() => [false, []]));
  });

  it.each(FAILURE_KINDS)('answers %s to an unreadable body', (kind) => {
    const answer = double.fail(kind, post('{'));
    expect(isFailure(answer)).toBe(true);
    expect(answer.received ?? []).toEqual([]);
  });
}
