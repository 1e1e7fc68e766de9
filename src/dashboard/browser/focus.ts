import { useEffect, useRef } from 'preact/hooks';

/** Moves the focus to the heading of the page, where a screen reader goes on reading. */
function focusHeading(): void {
  const heading = document.querySelector<HTMLElement>('#main h1') ?? document.getElementById('main');
  if (!heading) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

/** A new page begins at its top, with the focus on its heading. Going back, the browser restores where it was. */
export function useNewPage(path: string): void {
  const shown = useRef(path);
  const isBack = useRef(false);
  useEffect(() => {
    const onBack = () => {
      isBack.current = true;
    };
    addEventListener('popstate', onBack);
    return () => removeEventListener('popstate', onBack);
  }, []);
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    if (!isBack.current) scrollTo(0, 0);
    isBack.current = false;
    // A list of choices keeps the focus, so that the arrow keys go on to the next choice; so does the first field of a form.
    if (!document.activeElement?.matches('select, input, textarea')) focusHeading();
  }, [path]);
}

/** Where the focus goes when a dialog closes: to what opened it, or to the heading if that is gone or was the address. */
export function returnFocus(opener: Element | null): void {
  if (!(opener instanceof HTMLElement) || opener === document.body || !opener.isConnected) {
    focusHeading();
    return;
  }
  opener.focus();
  // What the dialog did may remove the opener a moment later, such as the button of a revoked key.
  const observer = new MutationObserver(() => {
    if (!opener.isConnected) focusHeading();
  });
  observer.observe(document.body, { childList: true, subtree: true });
  // Until the focus goes on, to the heading or by the user.
  document.addEventListener('focusin', () => observer.disconnect(), { once: true });
}
