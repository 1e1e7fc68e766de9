import { useSession } from '../../session.js';
import { CheckField } from './fields.js';

interface SiteChoiceProps {
  /** Null: all sites. */
  sites: string[] | null;
  onChange(sites: string[] | null): void;
}

export function SiteChoice({ sites, onChange }: SiteChoiceProps) {
  const session = useSession();
  return (
    <fieldset>
      <legend>Sites</legend>
      <CheckField
        label="All sites, also those added later"
        value={sites === null}
        onValue={(isAll) => onChange(isAll ? null : [])}
      />
      {sites !== null &&
        session.sites.map(({ host }) => (
          <CheckField
            key={host}
            label={host}
            value={sites.includes(host)}
            onValue={(isIncluded) => onChange(isIncluded ? [...sites, host] : sites.filter((site) => site !== host))}
          />
        ))}
    </fieldset>
  );
}
