import type { Settings } from '../kernel/settings/settings.js';

export type KafkaSettings = Pick<
  Settings,
  | 'cell'
  | 'kafkaTopicPrefix'
  | 'kafkaPartitions'
  | 'kafkaRetentionMs'
  | 'kafkaSsl'
  | 'kafkaSslCa'
  | 'kafkaSaslMechanism'
  | 'kafkaSaslUsername'
  | 'kafkaSaslPassword'
> & { readonly kafkaBrokers: readonly string[] };

export function usesKafka(settings: Settings): settings is Settings & KafkaSettings {
  return settings.kafkaBrokers !== undefined;
}
