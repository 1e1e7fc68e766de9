import { PLATFORM_CASES } from '../../../test/support/platform-cases.js';
import { describePlatformContract, type PlatformContract } from '../../../test/support/platform-contract.js';
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
};

describe.each(shippedNames())('the shipped definition %s', (name) => {
  const found = PLATFORM_CASES.find((candidate) => candidate.name === name);
  if (!found) throw new Error(`test/support/platform-cases.ts has no case of ${name}`);
  const { platform, connection } = found;
  const secrets = Object.keys(connection.secrets);
  describePlatformContract(platform, {
    connection,
    secretSettings: secrets,
    verdicts: VERDICTS[name] ?? [],
    unreadable: ['<html>', ''],
  });
});
