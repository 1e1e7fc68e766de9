import { useEffect, useState } from 'preact/hooks';

/** Whether the tab is shown. */
export function useIsVisible(): boolean {
  const [isVisible, setVisible] = useState(isShown);
  useEffect(() => {
    const update = () => setVisible(isShown());
    document.addEventListener('visibilitychange', update);
    return () => document.removeEventListener('visibilitychange', update);
  }, []);
  return isVisible;
}

function isShown(): boolean {
  return document.visibilityState === 'visible';
}
