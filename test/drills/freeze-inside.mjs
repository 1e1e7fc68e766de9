// Loaded into the services of a drill: SIGUSR2 makes the process freeze itself at the worst moment, when everything of a
// transaction has been sent and nothing committed. SIGCONT wakes it up, and it goes on as if nothing had been.
import kafkajs from 'kafkajs';

let armed = false;
process.on('SIGUSR2', () => {
  armed = true;
});
const { producer } = kafkajs.Kafka.prototype;
kafkajs.Kafka.prototype.producer = function freezing(options) {
  const made = producer.call(this, options);
  const { transaction } = made;
  made.transaction = async () => {
    const begun = await transaction();
    const { commit } = begun;
    begun.commit = () => {
      if (armed) process.kill(process.pid, 'SIGSTOP');
      armed = false;
      return commit();
    };
    return begun;
  };
  return made;
};
