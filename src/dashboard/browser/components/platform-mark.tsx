import {
  type SimpleIcon,
  siGoogleads,
  siGoogleanalytics,
  siMeta,
  siPinterest,
  siReddit,
  siSnapchat,
  siTiktok,
  siX,
} from 'simple-icons';
import { connectionTitle } from '../format.js';

/** Of the platforms whose logos are free to use; the others have the first letter of their names. */
const LOGOS: Readonly<Record<string, SimpleIcon>> = {
  google_ads: siGoogleads,
  ga4: siGoogleanalytics,
  meta: siMeta,
  tiktok: siTiktok,
  pinterest: siPinterest,
  snapchat: siSnapchat,
  reddit: siReddit,
  x: siX,
};

/** The logo of a connection's platform, beside its title. */
export function PlatformMark({ connection }: { connection: string }) {
  const [platform = ''] = connection.split(':', 1);
  return (
    <span class="mark" aria-hidden="true">
      {Object.hasOwn(LOGOS, platform) ? (
        <svg viewBox="0 0 24 24" aria-hidden="true">
          <path d={LOGOS[platform]?.path} />
        </svg>
      ) : (
        connectionTitle(platform).charAt(0)
      )}
    </span>
  );
}
