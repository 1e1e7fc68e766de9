/** The button that was clicked last, also by a key or by submitting its form. */
let used: Element | null = null;
globalThis.addEventListener?.(
  'click',
  ({ target }) => {
    used = target instanceof Element ? target.closest('button') : null;
  },
  { capture: true },
);

const BUSY = 'aria-busy';

/** Runs what a click starts, once: a second click on the same button does nothing until it is done. */
export async function onceForButton(work: () => Promise<void>): Promise<void> {
  const button = used?.isConnected ? used : null;
  if (button?.hasAttribute(BUSY)) return;
  button?.setAttribute(BUSY, 'true');
  try {
    await work();
  } finally {
    button?.removeAttribute(BUSY);
  }
}
