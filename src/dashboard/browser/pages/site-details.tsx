import { useMemo, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api } from '../api.js';
import { countryOptions, currencyOptions } from '../code-options.js';
import { Button } from '../components/basics.js';
import { Confirm } from '../components/forms/dialog.js';
import { CheckField, SelectField } from '../components/forms/fields.js';
import { ListEditor } from '../components/forms/list-editor.js';
import { Notice, Page, Panel, Show } from '../components/frame.js';
import { attempt, toast } from '../components/toasts.js';
import { useDialog } from '../hooks/use-dialog.js';
import { useSiteSettings } from '../hooks/use-site-settings.js';
import { problemOf } from '../problem.js';
import { type Site, useSession } from '../session.js';

/** The hosts and the country of a site, and its removal. */
export function SiteDetails({ site }: { site: Site }) {
  const { isWriter, reloadSites } = useSession();
  const { opened, item, open, close } = useDialog(isWriter);
  const { host, aliases, paused, move } = site;
  const path = { site: host };
  const removed = opened === 'remove-host' ? aliases.find((name) => name === item) : undefined;
  const changeAliases = async (body: { add: string[]; remove: string[] }) => {
    await api.PATCH('/api/v1/sites/{site}/aliases', { path, body });
    reloadSites();
    toast('Saved');
  };
  const setPaused = async (isPaused: boolean) => {
    await api.PUT('/api/v1/sites/{site}/pause', { path, body: { paused: isPaused } });
    reloadSites();
    return isPaused ? `${host} is paused` : `${host} goes on`;
  };
  const resume = () => attempt(() => setPaused(false));
  const addAlias = async (alias: string) => {
    try {
      await changeAliases({ add: [alias], remove: [] });
      return true;
    } catch (error) {
      toast(problemOf(error).detail, 'bad');
      return false;
    }
  };
  return (
    <Page title="Site" note={`The hosts of ${host}, its country, and its removal`}>
      {paused && (
        <Notice action={isWriter && <Button label="Resume" onClick={resume} />}>
          <strong>{host} is paused.</strong> Senders are asked to try again later, and nothing is sent.
        </Notice>
      )}
      {move && (
        <Notice>
          <MoveText host={host} move={move} />
        </Notice>
      )}
      <Panel title="Other hosts" note={`Requests to them belong to ${host}, too`}>
        <ListEditor
          label="Host"
          placeholder="www.shop.example"
          values={aliases}
          isReadOnly={!isWriter}
          onChange={async (change) => {
            if ('add' in change) return addAlias(change.add);
            open('remove-host', change.remove);
            return false;
          }}
        />
      </Panel>
      <Country site={host} />
      <Currency site={host} />
      <StrictFields site={host} />
      <IdentifyBy site={host} />
      {isWriter && !paused && (
        <Panel title="Pause the site">
          <div class="pad form">
            <p>
              Senders are asked to try again later, and nothing is sent: for work on a receiver, or on the data of the
              site.
            </p>
            <div class="buttons">
              <Button label={`Pause ${host} …`} onClick={() => open('pause')} />
            </div>
          </div>
        </Panel>
      )}
      {isWriter && (
        <Panel title="Remove the site">
          <div class="pad form">
            <p>
              Then {host} accepts nothing more, its keys are revoked, and its platforms and its webhook are
              disconnected. Its events stay in the log.
            </p>
            <div class="buttons">
              <Button kind="danger" label={`Remove ${host} …`} onClick={() => open('remove')} />
            </div>
          </div>
        </Panel>
      )}
      {removed !== undefined && (
        <Confirm
          title={`Remove the host ${removed}?`}
          verb="Remove"
          onClose={close}
          onSubmit={() => changeAliases({ add: [], remove: [removed] })}
        >
          Conversions and visits that are sent to {removed} are refused at once. Those that were received stay with{' '}
          {host}.
        </Confirm>
      )}
      {opened === 'pause' && !paused && (
        <Confirm
          title={`Pause ${host}?`}
          verb="Pause"
          onClose={close}
          onSubmit={async () => toast(await setPaused(true))}
        >
          Nothing new is stored until you resume: senders are asked to try again later, and those that do not lose their
          conversions. Deliveries and pushes of totals wait; a delivery that gets too old for its platform meanwhile is
          not sent. Settings, history and erasures work as usual.
        </Confirm>
      )}
      {opened === 'remove' && <RemoveSite site={site} onClose={close} />}
    </Page>
  );
}

function RemoveSite({ site: { host }, onClose }: { site: Site; onClose: () => void }) {
  const { reloadSites } = useSession();
  const { route } = useLocation();
  const { current: state } = useRef({ isRemoved: false });
  return (
    <Confirm
      title={`Remove ${host}?`}
      verb="Remove the site"
      typed={host}
      // The page of a removed site is gone, so that closing the dialog does not lead back to it.
      onClose={() => (state.isRemoved ? route('/', true) : onClose())}
      onSubmit={async () => {
        await api.DELETE('/api/v1/sites/{site}', { path: { site: host } });
        state.isRemoved = true;
        reloadSites();
        toast(`${host} is removed`);
      }}
    >
      Conversions and visits are refused at once, and all keys are revoked. Deliveries that wait fail, the credentials
      of its platforms are deleted, and totals are no longer pushed. Its pages are gone from the dashboard; events,
      receipts and erasures stay in the log. It cannot be undone: a site that is added again needs new keys and
      connections.
    </Confirm>
  );
}

function Country({ site }: { site: string }) {
  const { loaded, change, isReadOnly } = useSiteSettings(site);
  const options = useMemo(() => [['', 'None'] as const, ...countryOptions()], []);
  return (
    <Panel title="Phone numbers" note="Those without a country code">
      <div class="pad form">
        <Show of={loaded}>
          {({ country }) => (
            <SelectField
              label="Country"
              help="A number such as 030 123456 is completed with the code of this country, unless the conversion states the customer’s. Without one it cannot be matched, and is not sent."
              value={country ?? ''}
              options={options}
              isDisabled={isReadOnly}
              onValue={(value) => void change({ country: value === '' ? null : value })}
            />
          )}
        </Show>
      </div>
    </Panel>
  );
}

function Currency({ site }: { site: string }) {
  const { loaded, change, isReadOnly } = useSiteSettings(site);
  const options = useMemo(() => [['', 'Not set: US dollars, with a warning'] as const, ...currencyOptions()], []);
  return (
    <Panel title="Currency" note="Of values that are sent without one">
      <div class="pad form">
        <Show of={loaded}>
          {({ currency }) => (
            <SelectField
              label="Currency"
              help="A conversion that states its currency keeps it. Until this is set, a value without one is taken as US dollars, and the sender is told so in the header X-CC-Warning."
              value={currency ?? ''}
              options={options}
              isDisabled={isReadOnly}
              onValue={(value) => void change({ currency: value === '' ? null : value })}
            />
          )}
        </Show>
      </div>
    </Panel>
  );
}

function StrictFields({ site }: { site: string }) {
  const { loaded, change, isReadOnly } = useSiteSettings(site);
  return (
    <Panel title="Optional fields" note="Of conversions that senders post">
      <div class="pad form">
        <Show of={loaded}>
          {({ strictFields }) => (
            <CheckField
              label="Refuse a conversion with an optional field that is not valid"
              help="Otherwise the field is dropped, the sender is told in the header X-CC-Warning, and the conversion names it under “Not used”."
              value={strictFields}
              isDisabled={isReadOnly}
              onValue={(value) => void change({ strictFields: value })}
            />
          )}
        </Show>
      </div>
    </Panel>
  );
}

function IdentifyBy({ site }: { site: string }) {
  const { loaded, change, isReadOnly } = useSiteSettings(site);
  return (
    <Panel title="People" note="What a conversion must state about its person">
      <div class="pad form">
        <Show of={loaded}>
          {({ identifyBy }) => (
            <CheckField
              label="Accept conversions without an email"
              help="With a phone, an external id or a click id instead. The browser tag’s landings are then found by their click ids, too; each platform skips what it cannot recognise a person by."
              value={identifyBy === 'any'}
              isDisabled={isReadOnly}
              onValue={(value) => void change({ identifyBy: value ? 'any' : 'email' })}
            />
          )}
        </Show>
      </div>
    </Panel>
  );
}

function MoveText({ host, move }: { host: string; move: NonNullable<Site['move']> }) {
  const cell = move.url === undefined ? move.to : <a href={move.url}>{move.to}</a>;
  const [what, consequence] = {
    arriving: [`${host} is on its way to this cell.`, 'Until then, the cell that it comes from acts for it.'],
    copying: [[`${host} is being copied to cell `, cell, '.'], 'Until it has moved, nothing changes.'],
    elsewhere: [['Cell ', cell, ` has ${host}.`], LOST_MOVE],
    leaving: [`${host} is about to move.`, ['Conversions are accepted; cell ', cell, ' will send them.']],
    left: [`${host} has moved.`, ['Cell ', cell, ' acts for it; what you see here is the state when it left.']],
  }[move.state];
  return (
    <>
      <strong>{what}</strong> {consequence}
    </>
  );
}

const LOST_MOVE =
  'The database of this cell was restored or failed over, and has lost that the site moved. Senders are asked to try again later: let the DNS name of the site lead to the other cell.';
