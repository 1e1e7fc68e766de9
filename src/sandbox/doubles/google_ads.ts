import { bearerToken, credentialFailure, jsonAnswer } from '../answers.js';
import type { CallKind, FailureKind, PlatformDouble, SandboxAnswer, SandboxRequest } from '../double.js';
import type { SignIn } from '../sign-ins.js';
import { tokenAnswer, tokenFailures } from '../token-endpoint.js';
import { adjustments } from './google-adjustments.js';
import { clickUpload } from './google-click-upload.js';
import { INGEST_PATH, ingestAnswer, ingestFailures } from './google-ingest.js';
import { controlStatus, STATUS_PATH, statusAnswer } from './google-request-status.js';

const TOKEN_PATH = '/token';

const UPLOADS = [clickUpload, adjustments];

/** The Data Manager API, the legacy uploads of clicks and adjustments, and their token endpoint. */
export const double: PlatformDouble = {
  name: 'google_ads',

  callKind({ path }): CallKind {
    if (path === TOKEN_PATH) return 'token';
    return path === STATUS_PATH ? 'status' : 'events';
  },

  answer(request): SandboxAnswer {
    const { method, path } = request;
    if (path === TOKEN_PATH) return tokenAnswer(request);
    const refusal = credentialFailure(bearerToken(request));
    if (refusal) return fail(refusal, request);
    if (method === 'POST' && path === INGEST_PATH) return ingestAnswer(request);
    if (method === 'GET' && path === STATUS_PATH) return statusAnswer(request);
    const upload = method === 'POST' ? uploadAt(path) : undefined;
    if (upload) return upload.answer(request);
    return jsonAnswer(404, { error: { code: 404, status: 'NOT_FOUND', message: 'Requested entity was not found.' } });
  },

  fail,
  control: controlStatus,
};

function fail(kind: FailureKind, request: SandboxRequest): SandboxAnswer {
  if (request.path === TOKEN_PATH) return tokenFailures[kind](request);
  const failures = uploadAt(request.path)?.failures ?? ingestFailures;
  return failures[kind](request);
}

function uploadAt(path: string) {
  return UPLOADS.find((upload) => upload.path.test(path));
}

export const signIn: SignIn = {
  consentPath: '/o/oauth2/v2/auth',
  consent: {
    required: { response_type: 'code', access_type: 'offline', prompt: 'consent' },
    scopes: {
      names: ['https://www.googleapis.com/auth/datamanager', 'https://www.googleapis.com/auth/adwords'],
      separator: ' ',
    },
    pkce: true,
  },
};
