import { connectionTitle } from '../format.js';
import { useGet } from '../hooks/use-data.js';
import { placeholderText, requestNote, requestText } from '../views/delivery-request-view.js';
import { CopyText, Facts } from './basics.js';
import { Dialog } from './forms/dialog.js';
import { Show } from './frame.js';

interface DeliveryRequestProps {
  site: string;
  /** Id of the conversion. */
  id: string;
  connection: string;
  onClose(): void;
}

/** The request of a delivery to its platform for a shell, with placeholders in place of secrets. */
export function DeliveryRequest({ onClose, ...path }: DeliveryRequestProps) {
  const title = connectionTitle(path.connection);
  const loaded = useGet('/api/v1/sites/{site}/conversions/{id}/deliveries/{connection}/request', { path });
  return (
    <Dialog title={`The request to ${title}`} closeLabel="Close" onClose={onClose}>
      <Show of={loaded}>
        {(request) => (
          <>
            <p class="dim">{requestNote(request, title)}</p>
            <CopyText label={`Request to ${title}`} text={requestText(request)} />
            {request.placeholders.length > 0 && (
              <>
                <p>Set these variables first. They stand for what is not shown:</p>
                <Facts
                  rows={request.placeholders.map((placeholder) => ({
                    name: placeholder.name,
                    value: placeholderText(placeholder, request),
                    isCode: true,
                  }))}
                />
              </>
            )}
          </>
        )}
      </Show>
    </Dialog>
  );
}
