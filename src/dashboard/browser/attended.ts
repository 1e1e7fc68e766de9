import { reachability } from './api.js';

/** Whether what is shown has to be up to date, and can be: the tab is not hidden, and the service answers. */
export function isAttended(): boolean {
  return document.visibilityState === 'visible' && reachability.isReachable;
}

/** Calls the listener whenever that changes. */
export function whenAttended(listener: (isOn: boolean) => void): () => void {
  let before = isAttended();
  const update = () => {
    if (before === isAttended()) return;
    before = !before;
    listener(before);
  };
  const stop = reachability.watch(update);
  document.addEventListener('visibilitychange', update);
  return () => {
    stop();
    document.removeEventListener('visibilitychange', update);
  };
}
