import { watchConsentManagers } from './consent-managers.js';
import { readSubmission } from './form.js';
import { afterCall, guarded, watchDataLayer } from './page.js';
import { origin } from './post.js';
import { countInteractions } from './signals.js';
import {
  applyConsent,
  applyManagerConsent,
  askedByManager,
  awaitManager,
  begin,
  flush,
  identify,
  reconcile,
  recordLanding,
} from './visitor.js';

/** The snippet's queue until the tag has loaded, then the tag's function. */
interface Cc {
  (...call: unknown[]): void;
  q?: { push(call: ArrayLike<unknown>): void } | ArrayLike<unknown>[];
  identifyEmail?: (email: unknown) => void;
  isTag?: true;
}

const page = window as Window & { cc?: Cc };
const ACTIVITY_MS = 60_000;

const run = guarded((call: ArrayLike<unknown>) => {
  checkConsent();
  if (call[0] === 'consent') applyConsent(call[1]);
  if (call[0] === 'identifyEmail') identify(call[1]);
});

/** Google's Consent Mode: `gtag('consent', 'default' | 'update', { … })`. */
const checkDataLayer = watchDataLayer((call) => {
  if (call[0] === 'consent') applyConsent(call[2], call[1] === 'default');
});

const checkManagers = watchConsentManagers(awaitManager, applyManagerConsent, askedByManager);

/** The page may create its dataLayer, and load its consent manager, after the tag. */
function checkConsent(): void {
  checkDataLayer();
  checkManagers();
}

/** Every listener first applies pending consent statements. It never throws. */
function on<E extends Event>(target: EventTarget, type: string, handle: (event: E) => void): void {
  const listener = guarded((event: E) => {
    checkConsent();
    handle(event);
  });
  target.addEventListener(type, listener as EventListener, true);
}

function start(): void {
  const { q } = (page.cc || {}) as Cc;
  const cc: Cc = (...call) => run(call);
  cc.isTag = true;
  cc.q = { push: run };
  cc.identifyEmail = (email) => run(['identifyEmail', email]);
  page.cc = cc;

  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  recordLanding(!navigation || navigation.type === 'navigate');
  checkConsent();
  for (const call of Array.from((q || []) as ArrayLike<unknown>[])) run(call);
  setTimeout(guarded(begin));

  let { search } = location;
  const onNavigation = guarded(() => {
    checkConsent();
    // Some pages call `replaceState` on every scroll, so an unchanged query is only activity.
    if (location.search === search) return stayActive();
    search = location.search;
    recordLanding(true);
  });
  afterCall(history as never, 'pushState', onNavigation);
  afterCall(history as never, 'replaceState', onNavigation);
  on(window, 'popstate', () => recordLanding(false));
  on(window, 'pageshow', ({ persisted }: PageTransitionEvent) => persisted && recordLanding(false));
  on(window, 'pagehide', flush);
  on(document, 'visibilitychange', () => document.hidden || reconcile());
  on(document, 'DOMContentLoaded', () => {});
  on(window, 'load', () => {});
  if (CONFIG.capture) on(window, 'submit', capture);
  countInteractions(
    guarded(() => {
      checkConsent();
      stayActive();
    }),
  );
}

let active = Date.now();

function stayActive(): void {
  if (Date.now() - active < ACTIVITY_MS) return;
  active = Date.now();
  reconcile();
}

/** Runs in the capture phase, before the page's own handlers, which may send the form themselves. */
function capture({ target }: Event): void {
  const { email, honeypot } = readSubmission(target as HTMLFormElement);
  if (email) identify(email, { identifiedBy: 'form', submitMs: Math.round(performance.now()), honeypot });
}

guarded(() => {
  if (!origin || (page.cc || ({} as Cc)).isTag) return;
  const { prerendering } = document as { prerendering?: boolean };
  // A prerendered page is not a visit until it is shown.
  if (prerendering) document.addEventListener('prerenderingchange', guarded(start), { once: true });
  else start();
})();
