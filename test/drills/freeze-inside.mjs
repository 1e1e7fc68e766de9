// Loaded into the services of the relay drill, to freeze them at the worst moments. SIGWINCH: after the next page has been
// read and before it is sent. SIGIO: after all of it has been sent and before the commit. SIGCONT resumes the process.
// (Not SIGUSR2: Nest treats it as a shutdown signal.)
import kafkajs from 'kafkajs';

const armed = { send: false, commit: false };
process.on('SIGWINCH', () => {
  armed.send = true;
});
process.on('SIGIO', () => {
  armed.commit = true;
});
const { producer } = kafkajs.Kafka.prototype;
kafkajs.Kafka.prototype.producer = function freezing(options) {
  const created = producer.call(this, options);
  const { transaction: begin } = created;
  created.transaction = async () => {
    const transaction = await begin();
    for (const step of ['send', 'commit']) {
      const original = transaction[step];
      transaction[step] = (...args) => {
        if (armed[step]) process.kill(process.pid, 'SIGSTOP');
        armed[step] = false;
        return original(...args);
      };
    }
    return transaction;
  };
  return created;
};
