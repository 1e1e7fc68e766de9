import { useLocation } from 'preact-iso';
import { withQuery } from './navigation.js';

/** The dialog of a page that is open, such as `new` or `revoke`, and the item that it is about. */
export interface OpenedDialog {
  readonly opened: string | undefined;
  readonly item: string | undefined;
  open(dialog: string, item?: string): void;
  close(): void;
}

/** Dialogs are part of the address: they can be linked to, stay after a reload, and a step back closes them. */
export function useDialog(): OpenedDialog {
  const { path, query, route } = useLocation();
  return {
    opened: query['dialog'],
    item: query['item'],
    open: (dialog, item = '') => route(withQuery(path, { ...query, dialog, item })),
    close: () => route(withQuery(path, { ...query, dialog: '', item: '' }), true),
  };
}
