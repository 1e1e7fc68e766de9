// Loaded into the service by a drill that wants to see itself fail: every relay gets a transactional id of its own, so that
// Kafka no longer keeps one that was frozen from going on beside its successor.
import { randomUUID } from 'node:crypto';
import kafkajs from 'kafkajs';

const { producer } = kafkajs.Kafka.prototype;
kafkajs.Kafka.prototype.producer = function unfenced(options) {
  return producer.call(this, { ...options, transactionalId: `${options.transactionalId}-${randomUUID()}` });
};
