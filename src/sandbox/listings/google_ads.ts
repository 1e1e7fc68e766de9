import { bearerToken, credentialFailure, isJsonContentType, jsonAnswer } from '../answers.js';
import type { FailureAnswers, SandboxAnswer, SandboxRequest } from '../double.js';
import { clickUpload } from '../doubles/google-click-upload.js';
import { googleAdsError } from '../doubles/google-upload.js';
import { isText, objectOf, parseJson } from '../values.js';
import type { ListingDouble } from './listing.js';

const ACCESSIBLE = /^\/v\d+\/customers:listAccessibleCustomers$/;
const SEARCH = /^\/v\d+\/customers\/(\d{10})\/googleAds:search$/;

interface Customer {
  readonly id: string;
  readonly name: string;
  /** The managers above it. */
  readonly managers: readonly string[];
  readonly actions: readonly (readonly [id: string, name: string, type: string, category: string])[];
}

/** A manager and a cancelled account with direct access, and two customers below the manager. */
const CUSTOMERS: readonly Customer[] = [
  { id: '1000000001', name: 'Sandbox Agency', managers: [], actions: [] },
  {
    id: '1000000002',
    name: 'Sandbox Shop DE',
    managers: ['1000000001'],
    actions: [
      ['700000001', 'Order', 'UPLOAD_CLICKS', 'PURCHASE'],
      ['700000002', 'Enquiry', 'UPLOAD_CLICKS', 'SUBMIT_LEAD_FORM'],
      ['700000003', 'Registration', 'WEBPAGE', 'SIGNUP'],
      ['700000004', 'Call from an ad', 'AD_CALL', 'PHONE_CALL_LEAD'],
    ],
  },
  {
    id: '1000000003',
    name: 'Sandbox Shop FR',
    managers: ['1000000001'],
    actions: [['700000005', 'Commande', 'UPLOAD_CLICKS', 'PURCHASE']],
  },
];
const CANCELLED = '1000000004';

const INVALID = (request: SandboxRequest) =>
  googleAdsError(request, 400, 'INVALID_ARGUMENT', { queryError: 'UNEXPECTED_INPUT' });
const failures: FailureAnswers = { ...clickUpload.failures, refuse: INVALID, refuse_one: INVALID };

export const listing: ListingDouble = {
  serves: ({ path }) => ACCESSIBLE.test(path) || SEARCH.test(path),

  answer(request): SandboxAnswer {
    const refusal = credentialFailure(bearerToken(request));
    if (refusal) return failures[refusal](request);
    const { method, path } = request;
    const id = SEARCH.exec(path)?.[1];
    if (method !== (id === undefined ? 'GET' : 'POST')) return notFound();
    if (id !== undefined) return searchAnswer(request, id);
    return jsonAnswer(200, { resourceNames: ['customers/1000000001', `customers/${CANCELLED}`] });
  },

  failures,
};

function searchAnswer(request: SandboxRequest, id: string): SandboxAnswer {
  const body = objectOf(isJsonContentType(request) ? parseJson(request.body) : undefined);
  const { query } = body;
  if (!isText(query)) return failures.refuse(request);
  if ('pageSize' in body)
    return googleAdsError(request, 400, 'INVALID_ARGUMENT', { requestError: 'PAGE_SIZE_NOT_SUPPORTED' });
  if (id === CANCELLED)
    return googleAdsError(request, 403, 'PERMISSION_DENIED', { authorizationError: 'CUSTOMER_NOT_ENABLED' });
  const customer = CUSTOMERS.find((one) => one.id === id);
  const login = request.headers['login-customer-id'] ?? id;
  if (
    !customer ||
    (login !== id && !customer.managers.includes(login)) ||
    (login === id && customer.managers.length > 0)
  )
    return failures.forbidden(request);
  if (/ FROM customer_client /.test(query)) return jsonAnswer(200, { results: clientsOf(customer) });
  if (/ FROM conversion_action /.test(query)) return jsonAnswer(200, { results: actionsOf(customer, query) });
  return failures.refuse(request);
}

function clientsOf({ id }: Customer): object[] {
  const below = CUSTOMERS.filter((one) => one.id === id || one.managers.includes(id));
  return below.map((one) => ({
    customerClient: {
      resourceName: `customers/${id}/customerClients/${one.id}`,
      id: one.id,
      descriptiveName: one.name,
      manager: one.managers.length === 0,
      level: one.id === id ? '0' : '1',
    },
  }));
}

/** Conversion actions of the types that the query selects. */
function actionsOf(customer: Customer, query: string): object[] {
  const types = [...(/conversion_action\.type IN \(([^)]*)\)/.exec(query)?.[1] ?? '').matchAll(/'(\w+)'/g)].map(
    ([, type]) => type,
  );
  return customer.actions
    .filter(([, , type]) => types.length === 0 || types.includes(type))
    .map(([id, name, type, category]) => ({
      conversionAction: {
        resourceName: `customers/${customer.id}/conversionActions/${id}`,
        ...{ id, name, type, category },
      },
    }));
}

function notFound(): SandboxAnswer {
  return jsonAnswer(404, { error: { code: 404, status: 'NOT_FOUND', message: 'Requested entity was not found.' } });
}
