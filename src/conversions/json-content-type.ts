const PARAMETER = /^\s*charset\s*=\s*(?:"utf-8"|utf-8)\s*$/i;

/** `application/json`, alone or with `charset=utf-8`; other parameters change nothing about the bytes. */
export function isJsonContentType(header: string | undefined): boolean {
  if (header === 'application/json') return true;
  if (header === undefined) return false;
  const [type = '', ...parameters] = header.split(';');
  if (type.trim().toLowerCase() !== 'application/json') return false;
  return parameters.every((parameter) => !/^\s*charset\s*=/i.test(parameter) || PARAMETER.test(parameter));
}
