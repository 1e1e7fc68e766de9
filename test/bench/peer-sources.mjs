// Relays that others have made, and whether their sources can be had: they are Go modules, which the Go proxy may refuse.
import { runChild } from './children.mjs';

export const PEERS = [
  { name: "RudderStack's gateway", module: 'github.com/rudderlabs/rudder-server' },
  { name: 'Outpost', module: 'github.com/hookdeck/outpost' },
];

/** @returns one line per peer: that it was left out, and why */
export async function leftOutPeers({ directory, progress }) {
  const lines = [];
  for (const peer of PEERS) {
    progress(`asking the Go proxy for ${peer.name} …`);
    lines.push(leftOutText(peer, await newestVersion(peer, directory)));
  }
  return lines;
}

/** Outside of any module, so that no go.mod decides which version it is. */
async function newestVersion({ module }, cwd) {
  try {
    const version = await runChild('go', 'go', ['list', '-m', '-f', '{{.Version}}', `${module}@latest`], { cwd });
    return { version: version.trim() };
  } catch (error) {
    return { error: error.message };
  }
}

/** Without addresses: which proxy was asked is a setting of the machine. */
export function leftOutText({ name, module }, { version, error }) {
  const leftOut = `${name} was left out:`;
  if (version) return `${leftOut} ${module} ${version} can be had, but this benchmark does not build and start it yet`;
  if (error.includes('ENOENT')) return `${leftOut} Go is not installed; install it to look for ${module}`;
  const status = /: (\d{3} [A-Z]\w+( [A-Z]\w+)*)/.exec(error)?.[1];
  if (status) return `${leftOut} the Go proxy answered ${status} for ${module}`;
  return `${leftOut} ${module} could not be had from the Go proxy: ${error.replace(/\w+:\/\/[^\s"]+?(?=:?["\s]|$)/g, '…')}`;
}
