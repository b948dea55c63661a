package interop;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;

/** The arguments, each `name=value`, and the clients made from them. */
final class Settings {
  private final Map<String, String> values = new HashMap<>();
  final long untilMs;

  Settings(String[] arguments) {
    for (String argument : arguments) {
      int equals = argument.indexOf('=');
      values.put(argument.substring(0, equals), argument.substring(equals + 1));
    }
    untilMs = System.currentTimeMillis() + number("timeoutMs", 60_000);
  }

  String text(String name) {
    String value = values.get(name);
    if (value == null) {
      throw new IllegalArgumentException("missing argument " + name);
    }
    return value;
  }

  long number(String name, long otherwise) {
    return values.containsKey(name) ? Long.parseLong(values.get(name)) : otherwise;
  }

  /** Null when there is nothing to send. */
  Path plan() {
    return values.containsKey("send") ? Path.of(values.get("send")) : null;
  }

  /** Pairs of a way to cancel and the id of a message, in their order. */
  List<String[]> cancels() {
    return values.containsKey("cancel")
        ? Stream.of(values.get("cancel").split(",")).map(pair -> pair.split(":", 2)).toList()
        : List.of();
  }

  DefaultMQProducer startProducer() throws MQClientException {
    DefaultMQProducer producer = new DefaultMQProducer(text("group") + "-producer");
    producer.setNamesrvAddr(text("nameserver"));
    producer.setSendMsgTimeout(10_000);
    producer.start();
    return producer;
  }

  DefaultMQPushConsumer consumer(String group) {
    DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
    consumer.setNamesrvAddr(text("nameserver"));
    consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
    consumer.setAwaitTerminationMillisWhenShutdown(5_000);
    return consumer;
  }
}
