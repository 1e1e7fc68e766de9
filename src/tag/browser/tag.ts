import { submittedIn } from './form.js';
import { after, guarded, watchDataLayer } from './page.js';
import { origin } from './post.js';
import { countInteractions } from './signals.js';
import { arrive, begin, finish, hearConsent, identify, settle } from './visitor.js';

/** The snippet's queue before the tag is here, the tag's own function afterwards. */
interface Cc {
  (...call: unknown[]): void;
  q?: { push(call: ArrayLike<unknown>): void } | ArrayLike<unknown>[];
  identifyEmail?: (email: unknown) => void;
  isTag?: true;
}

const page = window as unknown as { cc?: Cc };
const ACTIVITY_MS = 60_000;

const run = guarded((call: ArrayLike<unknown>) => {
  listen();
  if (call[0] === 'consent') hearConsent(call[1]);
  if (call[0] === 'identifyEmail') identify(call[1]);
});

/** Google's Consent Mode: `gtag('consent', 'default' | 'update', { … })`. */
const listen = watchDataLayer((call) => {
  if (call[0] === 'consent') hearConsent(call[2], call[1] === 'default');
});

/** Every hook hears first what the page has said meanwhile, and throws nothing. */
function on<E extends Event>(target: EventTarget, type: string, react: (event: E) => void): void {
  const heard = guarded((event: E) => {
    listen();
    react(event);
  });
  target.addEventListener(type, heard as EventListener, true);
}

function start(): void {
  const { q } = (page.cc || {}) as Cc;
  const cc: Cc = (...call) => run(call);
  cc.isTag = true;
  cc.q = { push: run };
  cc.identifyEmail = (email) => run(['identifyEmail', email]);
  page.cc = cc;

  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  arrive(!navigation || navigation.type === 'navigate');
  listen();
  for (const call of Array.from((q || []) as ArrayLike<unknown>[])) run(call);
  setTimeout(guarded(begin));

  let { search } = location;
  const moved = guarded(() => {
    listen();
    // Some pages note every scroll in their history.
    if (location.search === search) return stayActive();
    search = location.search;
    arrive(true);
  });
  after(history as never, 'pushState', moved);
  after(history as never, 'replaceState', moved);
  on(window, 'popstate', () => arrive(false));
  on(window, 'pageshow', ({ persisted }: PageTransitionEvent) => persisted && arrive(false));
  on(window, 'pagehide', finish);
  on(document, 'visibilitychange', () => document.hidden || settle());
  // A page may make its dataLayer after the tag has come.
  on(document, 'DOMContentLoaded', () => {});
  on(window, 'load', () => {});
  if (CONFIG.capture) on(window, 'submit', capture);
  countInteractions(
    guarded(() => {
      listen();
      stayActive();
    }),
  );
}

let active = Date.now();

function stayActive(): void {
  if (Date.now() - active < ACTIVITY_MS) return;
  active = Date.now();
  settle();
}

/** Before the page's own handlers, which may send the form themselves. */
function capture({ target }: Event): void {
  const { email, honeypot } = submittedIn(target as HTMLFormElement);
  if (email) identify(email, { identifiedBy: 'form', submitMs: Math.round(performance.now()), honeypot });
}

guarded(() => {
  if (!origin || (page.cc || ({} as Cc)).isTag) return;
  const { prerendering } = document as { prerendering?: boolean };
  // A page that the browser fetched in advance is no visit until somebody looks at it.
  if (prerendering) document.addEventListener('prerenderingchange', guarded(start), { once: true });
  else start();
})();
