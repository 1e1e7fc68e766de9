import { api, dataOf } from '../api.js';
import { connectionTitle } from '../format.js';
import { useData } from '../hooks/use-data.js';
import { placeholderText, requestNote, requestText } from '../views/delivery-request-view.js';
import { CopyText } from './copy.js';
import { Dialog } from './forms/dialog.js';
import { Show } from './states.js';

interface DeliveryRequestProps {
  site: string;
  conversion: string;
  connection: string;
  onClose(): void;
}

/** The request of a delivery to its platform for a shell, with placeholders in place of secrets. */
export function DeliveryRequest({ site, conversion, connection, onClose }: DeliveryRequestProps) {
  const title = connectionTitle(connection);
  const loaded = useData(`request ${site} ${conversion} ${connection}`, () =>
    dataOf(
      api.GET('/api/v1/sites/{site}/conversions/{id}/deliveries/{connection}/request', {
        params: { path: { site, id: conversion, connection } },
      }),
    ),
  );
  return (
    <Dialog title={`The request to ${title}`} onClose={onClose}>
      <Show of={loaded}>
        {(request) => (
          <>
            <p class="dim">{requestNote(request, title)}</p>
            <CopyText label={`Request to ${title}`} text={requestText(request)} />
            {request.placeholders.length > 0 && (
              <>
                <p>Set these variables first. They stand for what is not shown:</p>
                <dl class="facts">
                  {request.placeholders.map((placeholder) => (
                    <div key={placeholder.name}>
                      <dt>
                        <code>{placeholder.name}</code>
                      </dt>
                      <dd>{placeholderText(placeholder, request)}</dd>
                    </div>
                  ))}
                </dl>
              </>
            )}
          </>
        )}
      </Show>
      <div class="buttons">
        <button type="button" class="primary" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
