// Loaded into the service to prove that the relay drill can fail: every relay gets its own transactional id, so Kafka no
// longer fences an instance that was frozen.
import { randomUUID } from 'node:crypto';
import kafkajs from 'kafkajs';

const { producer } = kafkajs.Kafka.prototype;
kafkajs.Kafka.prototype.producer = function unfenced(options) {
  return producer.call(this, { ...options, transactionalId: `${options.transactionalId}-${randomUUID()}` });
};
