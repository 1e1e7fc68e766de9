import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Reads topics with Java's own client until it has seen a number of events: java Reader.java brokers topics events */
public class Reader {
  public static void main(String[] args) {
    Map<String, Object> settings = Map.of(
        "bootstrap.servers", args[0],
        "group.id", "java-reader",
        "auto.offset.reset", "earliest",
        "enable.auto.commit", "false",
        "isolation.level", "read_committed");
    int remaining = Integer.parseInt(args[2]);
    try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
      consumer.subscribe(List.of(args[1].split(",")));
      while (remaining > 0) {
        for (var record : consumer.poll(Duration.ofSeconds(1))) {
          var line = new StringBuilder(record.key()).append('\t').append(record.value());
          for (var header : record.headers()) {
            line.append('\t').append(header.key()).append('=').append(new String(header.value()));
          }
          System.out.println(line);
          remaining--;
        }
      }
    }
  }
}
