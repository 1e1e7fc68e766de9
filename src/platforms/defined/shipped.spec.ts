import { PLATFORM_CASES, type PlatformCase } from '../../../test/support/platform-cases.js';
import { describePlatformContract, type PlatformContract } from '../../../test/support/platform-contract.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import { shippedNames } from './shipped.js';

/** The answers that the documentation shows, and those that any server gives. */
const VERDICTS: Readonly<Record<string, PlatformContract['verdicts']>> = {
  mixpanel: [
    [200, { code: 200, num_records_imported: 1, status: 'OK' }, { kind: 'delivered' }],
    [
      400,
      {
        code: 400,
        error: 'some data points in the request failed validation',
        status: 'Bad Request',
        num_records_imported: 0,
        failed_records: [
          {
            index: 0,
            insert_id: '13c0b661-f48b-51cd-ba54-97c5999169c0',
            field: 'properties.time',
            message: "'properties.time' is invalid: must be specified as seconds since epoch",
          },
        ],
      },
      [{ kind: 'rejected', reason: "'properties.time' is invalid: must be specified as seconds since epoch" }],
    ],
    [401, { code: 401, error: 'Invalid credentials', status: 'Unauthorized' }, { kind: 'unauthorized' }],
    [413, { code: 413, error: 'request exceeds max limit of 10MB' }, { kind: 'rejected' }],
    [429, { code: 429, error: 'Project exceeded rate limits.' }, { kind: 'retry', reason: 'throttled' }],
    [503, '', { kind: 'retry', reason: 'server_error' }],
  ],
  posthog: [
    [200, { status: 1 }, { kind: 'accepted' }],
    [200, { status: 'Ok' }, { kind: 'accepted' }],
    [
      400,
      { type: 'validation_error', code: 'invalid_payload', detail: 'Malformed.' },
      { kind: 'rejected', reason: 'Malformed.' },
    ],
    [401, { type: 'authentication_error', code: 'invalid_api_key' }, { kind: 'unauthorized' }],
    [503, '', { kind: 'retry', reason: 'server_error' }],
  ],
  quora: [
    [200, 'OK', { kind: 'delivered' }],
    [400, 'Invalid request', { kind: 'rejected', reason: 'HTTP 400' }],
    [401, '', { kind: 'unauthorized' }],
    [429, '', { kind: 'retry', reason: 'throttled' }],
    [500, '', { kind: 'retry', reason: 'server_error' }],
  ],
  klaviyo: [
    [202, '', { kind: 'accepted' }],
    [
      400,
      {
        errors: [
          {
            id: '8f145b8b-43ae-401f-9cee-15983ceaa522',
            status: 400,
            code: 'invalid',
            title: 'Invalid input.',
            detail: 'One of `attributes`, `relationships` or `id` must be included in the request payload.',
            source: { pointer: '/data' },
            meta: {},
          },
        ],
      },
      {
        kind: 'rejected',
        reason: 'One of `attributes`, `relationships` or `id` must be included in the request payload.',
      },
    ],
    [401, { errors: [{ detail: 'Incorrect authentication credentials.' }] }, { kind: 'unauthorized' }],
    [429, { errors: [{ code: 'throttled' }] }, { kind: 'retry', reason: 'throttled' }],
    [503, '', { kind: 'retry', reason: 'server_error' }],
  ],
  hubspot: [
    [204, '', { kind: 'delivered' }],
    [
      400,
      {
        status: 'error',
        message: 'Invalid input (details will vary based on the error)',
        correlationId: 'aeb5f871-7f07-4993-9211-075dc63e7cbf',
        category: 'VALIDATION_ERROR',
      },
      {
        kind: 'rejected',
        reason: 'Invalid input (details will vary based on the error)',
        requestId: 'aeb5f871-7f07-4993-9211-075dc63e7cbf',
      },
    ],
    [401, { category: 'INVALID_AUTHENTICATION' }, { kind: 'unauthorized' }],
    [429, { errorType: 'RATE_LIMIT', policyName: 'DAILY' }, { kind: 'retry', reason: 'throttled' }],
    [503, '', { kind: 'retry', reason: 'server_error' }],
  ],
};

/** Any body with the status of a success counts. */
const BY_STATUS = ['quora'];

describe.each(shippedNames())('the shipped definition %s', (name) => {
  const found = PLATFORM_CASES.find((candidate) => candidate.name === name);
  if (!found) throw new Error(`test/support/platform-cases.ts has no case of ${name}`);
  const { platform, connection } = found;
  const secrets = Object.keys(connection.secrets);
  describePlatformContract(platform, {
    connection,
    secretSettings: secrets,
    verdicts: VERDICTS[name] ?? [],
    ...(!BY_STATUS.includes(name) && { unreadable: ['<html>', ''] }),
  });
});

it('sends Quora its click id, and what is known of the person', () => {
  const { platform, connection } = PLATFORM_CASES.find(({ name }) => name === 'quora') as PlatformCase;
  const sample = SAMPLE_CONVERSIONS['without-email'];
  const clicks = { qclid: { id: '0|212106239366182|0', timeMs: sample.timeMs } };
  const visit = { ...sample.visit, ip: undefined, userAgent: undefined, referrer: undefined, clicks };
  expect(platform.payload({ ...sample, visit }, connection.settings)).toEqual({
    item: {
      account_id: 527745581653587,
      conversion: {
        event_name: 'Purchase',
        timestamp: sample.timeMs * 1_000,
        value: 129.9,
        event_id: 'ORD-1001',
        click_id: '0|212106239366182|0',
      },
      user: {},
      device: {},
    },
  });
});
