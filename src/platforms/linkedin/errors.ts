/** LinkedIn has no code for it: a rule counts only conversions of the method that it was made for. */
const OTHER_METHOD = /\bmethod should be CONVERSIONS_API\b/i;
const FIX =
  'Set event.<name> to a conversion rule of the method Conversions API: Campaign Manager, Measurement > Conversion tracking.';

/** As the verdict on a 426 says. */
const RETIRED_VERSION = /\bapi_version\b/;

/** Whether the message means a wrong setting, and not a wrong conversion. */
export function isOtherMethod(message: string): boolean {
  return OTHER_METHOD.test(message);
}

export function fix(reason: string): string | undefined {
  return isOtherMethod(reason) ? FIX : undefined;
}

export function misconfigured(reason: string): boolean {
  return isOtherMethod(reason) || RETIRED_VERSION.test(reason);
}
