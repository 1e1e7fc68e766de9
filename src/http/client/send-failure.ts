import { AddressRefused } from './guarded-lookup.js';

/** What an operator can do where an address is refused that a test, or the own network, needs. */
export const ALLOW_PRIVATE =
  'To test a receiver on this machine, or to call one on your own network, set OUTBOUND_ALLOW_PRIVATE=true.';

type SendFailureKind = 'timeout' | 'network_error' | 'address_refused';

/**
 * A call without a response. The message names the host and the cause, but no part of the path, query, headers or body, which
 * contain tokens and personal data.
 */
export class SendFailure extends Error {
  override readonly name = 'SendFailure';

  constructor(
    readonly kind: SendFailureKind,
    /** Whether the request may have reached the server. */
    readonly sent: boolean,
    message: string,
  ) {
    super(message);
  }
}

/** Explains an error that occurred before the response. Never contains the text of the error. */
export function failureOf(error: Error, host: string, sent: boolean): SendFailure {
  if (error instanceof AddressRefused) {
    return new SendFailure(
      'address_refused',
      sent,
      `${host} is not on the public internet. Use a public https address. ${ALLOW_PRIVATE}`,
    );
  }
  const code = codeOf(error);
  return new SendFailure('network_error', sent, `${host} ${explanationOf(code)} (${code}).`);
}

const EXPLANATIONS: readonly (readonly [RegExp, string])[] = [
  [/^ENOTFOUND$/, 'has no address: check the name'],
  [/^EAI_/, 'could not be looked up: check the name server'],
  [/^ECONNREFUSED$/, 'refused the connection: check the port, and whether the server is running'],
  [/^(EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EADDRNOTAVAIL)$/, 'cannot be reached: check the network'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'closed the connection before it answered: retry later'],
  [/^UND_ERR_HEADERS_OVERFLOW$/, 'sent too many headers: check which server answers there'],
  [/^(HPE_|HTTPParserError$)/, 'did not answer with HTTP: check the scheme and the port'],
  [/^(ERR_SSL_|EPROTO$)/, 'did not answer with TLS: check the scheme and the port'],
  [/CERT|SIGNATURE|ISSUER|CRL|ALTNAME|PURPOSE/, 'has a certificate that is not trusted: fix the certificate'],
  [/^UND_ERR_(INVALID_ARG|NOT_SUPPORTED)$/, 'was not called, because a header or the path is not valid HTTP: fix it'],
];

function explanationOf(code: string): string {
  return EXPLANATIONS.find(([codes]) => codes.test(code))?.[1] ?? 'could not be called: retry later';
}

function codeOf(error: Error): string {
  // Some errors of undici's parser have no code.
  const { code, name } = error as NodeJS.ErrnoException;
  return code ?? name;
}
