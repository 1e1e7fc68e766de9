import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';

/** The forms with changes that were not saved. */
const changed = new Set<HTMLFormElement>();

/** Whether what is inside this part of the page may go: if changes would be lost, the person is asked. */
export function mayLeave(part: Element = document.body): boolean {
  const isLost = [...changed].some((form) => part.contains(form));
  return !isLost || confirm('Leave without saving your changes?');
}

export function markChanged(form: HTMLFormElement, isChanged: boolean): void {
  if (isChanged) changed.add(form);
  else changed.delete(form);
}

/** The changes of a form, as it knows them or, if undefined, as they are marked, until it is gone. */
export function useUnsaved(form: RefObject<HTMLFormElement | null>, isChanged: boolean | undefined): void {
  useEffect(() => {
    const { current } = form;
    if (!current) return;
    if (isChanged !== undefined) markChanged(current, isChanged);
    return () => markChanged(current, false);
  }, [form, isChanged]);
}

/** Asks before a link leads away from changes, or the tab closes. */
export function useUnsavedQuestion(): void {
  useEffect(() => {
    const onClick = (event: MouseEvent) => {
      const link = event.target instanceof Element ? event.target.closest('a[href]') : null;
      if (!link || link.getAttribute('target') === '_blank' || event.ctrlKey || event.metaKey || mayLeave()) return;
      event.preventDefault();
      event.stopPropagation();
    };
    const onUnload = (event: BeforeUnloadEvent) => {
      if (changed.size > 0) event.preventDefault();
    };
    // Before the router, which listens to clicks as well.
    addEventListener('click', onClick, true);
    addEventListener('beforeunload', onUnload);
    return () => {
      removeEventListener('click', onClick, true);
      removeEventListener('beforeunload', onUnload);
    };
  }, []);
}
