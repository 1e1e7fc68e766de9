import { type RefObject } from 'preact';
import { useEffect } from 'preact/hooks';

/** The forms with changes that were not saved. */
const changed = new Set<HTMLFormElement>();

/** Whether what is inside this part of the page may go: if changes would be lost, the person is asked. */
export function mayLeave(part: Element = document.body): boolean {
  const isLost = [...changed].some((form) => part.contains(form));
  return !isLost || confirm('Leave without saving your changes?');
}

/** As long as the form has changes, they are not lost without a question. */
export function useUnsaved(form: RefObject<HTMLFormElement>, isChanged: boolean): void {
  useEffect(() => {
    const { current } = form;
    if (!current || !isChanged) return;
    changed.add(current);
    return () => {
      changed.delete(current);
    };
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
