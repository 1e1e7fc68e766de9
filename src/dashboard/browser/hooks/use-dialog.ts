import { useLocation } from 'preact-iso';
import { withQuery } from '../navigation.js';

type Route = (address: string, isReplaced?: boolean) => void;

/** The state of an entry of the browser's history that a page added to open a dialog. */
const OPENED = { isDialog: true };

/** Goes to the address of a dialog. */
export function openDialog(route: Route, address: string): void {
  route(address);
  history.replaceState(OPENED, '');
}

/** Changes the address of a dialog that stays open. */
export function changeDialog(route: Route, address: string): void {
  const { state } = history;
  route(address, true);
  history.replaceState(state, '');
}

/** Leaves the address of a dialog: by a step back if the page opened it, so that the history does not have the page twice. */
export function leaveDialog(route: Route, address: string): void {
  if (history.state?.isDialog) {
    // Closing it twice must not go back twice.
    history.replaceState(null, '');
    history.back();
  } else {
    route(address, true);
  }
}

/** The dialog of a page that is open, such as `new` or `revoke`, and the item that it is about. */
export interface OpenedDialog {
  readonly opened: string | undefined;
  readonly item: string | undefined;
  open(dialog: string, item?: string): void;
  close(): void;
}

/**
 * Dialogs are part of the address: they can be linked to, stay after a reload, and a step back closes them. None opens for a
 * user to whom they are not allowed.
 */
export function useDialog(isAllowed = true): OpenedDialog {
  const { path, query, route } = useLocation();
  return {
    opened: isAllowed ? query['dialog'] : undefined,
    item: query['item'],
    open: (dialog, item = '') => openDialog(route, withQuery(path, { ...query, dialog, item })),
    close: () => leaveDialog(route, withQuery(path, { ...query, dialog: '', item: '' })),
  };
}
