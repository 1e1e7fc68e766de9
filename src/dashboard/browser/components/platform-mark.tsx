import googleAds from 'simple-icons/icons/googleads.svg';
import ga4 from 'simple-icons/icons/googleanalytics.svg';
import meta from 'simple-icons/icons/meta.svg';
import pinterest from 'simple-icons/icons/pinterest.svg';
import reddit from 'simple-icons/icons/reddit.svg';
import snapchat from 'simple-icons/icons/snapchat.svg';
import tiktok from 'simple-icons/icons/tiktok.svg';
import x from 'simple-icons/icons/x.svg';
import { connectionTitle } from '../format.js';

/** Addresses of the logos that are free to use; other platforms have the first letter of their names. */
const LOGOS: Readonly<Record<string, string>> = {
  google_ads: googleAds,
  ...{ ga4, meta, tiktok, pinterest, snapchat, reddit, x },
};

/** The logo of a connection's platform, beside its title. */
export function PlatformMark({ connection }: { connection: string }) {
  const [platform = ''] = connection.split(':', 1);
  const logo = Object.hasOwn(LOGOS, platform) ? LOGOS[platform] : undefined;
  return (
    <span class="mark" aria-hidden="true">
      {/* A mask: the logo has the colour of the text, in both colour schemes. */}
      {logo === undefined ? connectionTitle(platform).charAt(0) : <i style={{ maskImage: `url(${logo})` }} />}
    </span>
  );
}
