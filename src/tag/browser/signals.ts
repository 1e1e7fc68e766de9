/** Signals for the service's bot score. None of them identifies a visitor. */
const AUTOMATION: Record<string, RegExp> = {
  cdc: /^\$?cdc_/,
  phantom: /^_?phantom$/,
  callPhantom: /^callPhantom$/,
  nightmare: /^__nightmare$/,
  playwright: /^__(playwright|pw)/,
  selenium: /^__?(selenium|webdriver)_/,
  domAutomation: /^domAutomation/,
};

const loadedMs = Math.round(performance.now());
let interactions = 0;

/** Counts input events that a script cannot fake (`isTrusted`). `then` runs after every input event. */
export function countInteractions(then: () => void): void {
  for (const type of ['pointerdown', 'keydown', 'wheel']) {
    const count = (event: Event) => {
      if (event.isTrusted) interactions += 1;
      then();
    };
    addEventListener(type, count, { capture: true, passive: true });
  }
}

export function signals(): object {
  const globals = Object.keys(window).concat(Object.keys(document));
  return {
    webdriver: !!navigator.webdriver,
    automation: Object.keys(AUTOMATION).filter((tool) =>
      globals.some((name) => (AUTOMATION[tool] as RegExp).test(name)),
    ),
    languages: (navigator.languages || []).length,
    screen: [screen.width, screen.height],
    viewport: [innerWidth, innerHeight],
    touch: navigator.maxTouchPoints || 0,
    plugins: (navigator.plugins || []).length,
    hidden: document.hidden,
    loadedMs,
    interactions,
  };
}
