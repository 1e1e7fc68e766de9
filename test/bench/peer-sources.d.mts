export interface Peer {
  readonly name: string;
  readonly module: string;
}
export const PEERS: readonly Peer[];
export function leftOutPeers(context: { directory: string; progress: (text: string) => void }): Promise<string[]>;
export function leftOutText(peer: Peer, answer: { version?: string; error?: string }): string;
