// Loaded into the services of a drill, to freeze them at the worst moments. SIGUSR2: when the next page has been read and
// nothing of it sent. SIGWINCH: when all of it has been sent and nothing committed. SIGCONT wakes the process up, and it goes
// on as if nothing had been.
import kafkajs from 'kafkajs';

const armed = { send: false, commit: false };
process.on('SIGUSR2', () => {
  armed.send = true;
});
process.on('SIGWINCH', () => {
  armed.commit = true;
});
const { producer } = kafkajs.Kafka.prototype;
kafkajs.Kafka.prototype.producer = function freezing(options) {
  const made = producer.call(this, options);
  const { transaction } = made;
  made.transaction = async () => {
    const begun = await transaction();
    for (const step of ['send', 'commit']) {
      const original = begun[step];
      begun[step] = (...args) => {
        if (armed[step]) process.kill(process.pid, 'SIGSTOP');
        armed[step] = false;
        return original(...args);
      };
    }
    return begun;
  };
  return made;
};
