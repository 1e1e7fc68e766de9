import { type Consent, FIELDS } from './consent.js';
import { guarded } from './page.js';

/** What the tag reads of the IAB's TCF 2.2 and 2.3 (`__tcfapi`). */
export interface TcData {
  readonly gdprApplies?: boolean;
  readonly eventStatus?: string;
  readonly purpose?: { readonly consents: Readonly<Record<number, boolean>> };
}

/** What the tag reads of the IAB's GPP 1.1 (`__gpp`). */
export interface GppPing {
  readonly signalStatus?: string;
  readonly cmpDisplayStatus?: string;
  readonly applicableSections?: readonly number[];
  readonly parsedSections?: Readonly<Record<string, GppSection | readonly GppSection[]>>;
}
type GppSection = Readonly<Record<string, unknown>>;

type Callback<Data> = (data: Data | null, success: boolean) => void;
interface ManagerApis {
  __tcfapi?: (command: string, version: number, callback: Callback<TcData>) => void;
  __gpp?: (command: string, callback: Callback<{ pingData?: GppPing }>) => void;
}

/** The purposes of the TCF that each field needs, as Google maps them. It derives no consent to analytics from the TCF. */
const PURPOSES: Partial<Record<keyof Consent, number[]>> = {
  ad_storage: [1],
  ad_user_data: [1, 7],
  ad_personalization: [3, 4],
};
const OPT_OUTS = ['SaleOptOut', 'SharingOptOut', 'TargetedAdvertisingOptOut'];
const OPTED_OUT = 1;
const NOT_OPTED_OUT = 2;

/** The manager shows its banner, and the visitor has not decided. */
type Asking = 'asking';

/** Undefined until the manager asks or the visitor has decided; empty where the TCF does not apply. */
export function consentFromTcf({ gdprApplies, eventStatus, purpose }: TcData): Consent | Asking | undefined {
  if (gdprApplies === false) return {};
  if (eventStatus === 'cmpuishown') return 'asking';
  if (!purpose || !/^(tcloaded|useractioncomplete)$/.test(eventStatus || '')) return undefined;
  return consentTo((id) => purpose.consents[id]);
}

/**
 * Undefined until the manager asks or the signal is ready; empty where no section applies. A denial in one section counts above all
 * others.
 */
export function consentFromGpp(ping: GppPing): Consent | Asking | undefined {
  const { signalStatus, cmpDisplayStatus, applicableSections, parsedSections } = ping;
  if (signalStatus !== 'ready') return cmpDisplayStatus === 'visible' ? 'asking' : undefined;
  const consent: Consent = {};
  if ((applicableSections || []).indexOf(-1) >= 0) return consent;
  const sections = parsedSections || {};
  for (const name of Object.keys(sections)) {
    // Some managers publish a section as a list of its segments.
    const segments = ([] as GppSection[]).concat(sections[name] as GppSection);
    const answers = consentOfSection(Object.assign({}, ...segments));
    for (const field of FIELDS) {
      const answer = answers[field];
      if (answer && consent[field] !== 'denied') consent[field] = answer;
    }
  }
  return consent;
}

/** The European and Canadian sections state purposes, those of the United States opt-outs. */
function consentOfSection(section: GppSection): Consent {
  const { PurposeConsents, PurposesExpressConsent, PurposesImpliedConsent, Gpc, OptOutSale } = section;
  const purposes = (PurposeConsents || PurposesExpressConsent) as boolean[] | undefined;
  const implied = (PurposesImpliedConsent || []) as boolean[];
  if (purposes) return consentTo((id) => purposes[id - 1] || implied[id - 1]);
  const answers = OPT_OUTS.map((name) => section[name]);
  if (Gpc || OptOutSale === 'Y' || answers.indexOf(OPTED_OUT) >= 0) return consentTo(() => false);
  return OptOutSale === 'N' || answers.indexOf(NOT_OPTED_OUT) >= 0 ? consentTo(() => true) : {};
}

function consentTo(hasConsent: (purpose: number) => unknown): Consent {
  const consent: Consent = {};
  for (const field of FIELDS) {
    const purposes = PURPOSES[field];
    if (purposes) consent[field] = purposes.every(hasConsent) ? 'granted' : 'denied';
  }
  return consent;
}

/**
 * Listens to consent managers on the page. Call the result again to find one that was loaded later. `onFound` is called once
 * for each, `onConsent` for each statement: `isFirst` says that it is the first of its manager. `onAsking` is called before that one,
 * when the manager shows its banner.
 */
export function watchConsentManagers(
  onFound: () => void,
  onConsent: (consent: Consent, isFirst: boolean) => void,
  onAsking: () => void,
): () => void {
  const isFound: Record<string, boolean> = {};
  const listen = <Data>(
    name: string,
    read: (data: Data) => Consent | Asking | undefined,
    add: (callback: Callback<Data>) => void,
  ) => {
    if (isFound[name]) return;
    isFound[name] = true;
    onFound();
    let isFirst = true;
    add(
      guarded((data, success) => {
        const consent = success && data ? read(data) : undefined;
        if (consent === 'asking' && isFirst) onAsking();
        if (!consent || consent === 'asking') return;
        onConsent(consent, isFirst);
        isFirst = false;
      }),
    );
  };
  return () => {
    const { __tcfapi, __gpp } = window as Window & ManagerApis;
    if (__tcfapi) listen('tcf', consentFromTcf, (callback) => __tcfapi('addEventListener', 2, callback));
    if (__gpp)
      listen(
        'gpp',
        (event: { pingData?: GppPing }) => consentFromGpp(event.pingData || {}),
        (callback) => __gpp('addEventListener', callback),
      );
  };
}
