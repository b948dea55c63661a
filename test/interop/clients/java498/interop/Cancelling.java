package interop;

import java.util.Map;
import org.apache.rocketmq.client.producer.DefaultMQProducer;

/** A 4.x client cannot recall messages. */
final class Cancelling {
  private Cancelling() {}

  static void one(DefaultMQProducer producer, Settings settings, String way, String id,
      Map<String, Sending.Answered> answered, Events.Seen seen) {
    throw new UnsupportedOperationException("this client has no recallMessage");
  }
}
