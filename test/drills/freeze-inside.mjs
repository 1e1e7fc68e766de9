// Loaded into the services of a drill, to freeze them at the worst moments. SIGWINCH: when the next page has been read and
// nothing of it sent. SIGIO: when all of it has been sent and nothing committed. SIGCONT wakes the process up, and it goes
// on as if nothing had been. (Not SIGUSR2: Nest takes it for a wish to stop.)
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
