package interop;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;

/** Sends a plan, one message after the other. */
final class Sending {
  private Sending() {}

  /** An answered send; the deliver time is -1 when the broker works it out. */
  record Answered(SendResult result, long deliverMs) {}

  /** A message that only shows that the consumer is ready. */
  static void warmUp(DefaultMQProducer producer, Settings settings) throws Exception {
    Message message = new Message(settings.text("topic"), "warmup|".getBytes("UTF-8"));
    producer.send(message);
  }

  /** Returns the answered sends by the ids of their messages. */
  static Map<String, Answered> all(
      DefaultMQProducer producer, Settings settings, List<PlannedMessage> plan) {
    Map<String, Answered> answered = new HashMap<>();
    for (PlannedMessage planned : plan) {
      Message message = planned.toMessage(settings.text("topic"));
      long beforeMs = System.currentTimeMillis();
      long deliverMs = TimedMessage.setTime(message, planned.kind(), planned.value(), beforeMs);
      try {
        SendResult result = producer.send(message);
        if (result.getSendStatus() != SendStatus.SEND_OK) {
          throw new IllegalStateException("status " + result.getSendStatus());
        }
        Events.sent(planned.id(), beforeMs, System.currentTimeMillis(), deliverMs);
        answered.put(planned.id(), new Answered(result, deliverMs));
      } catch (Exception e) {
        Events.failed(planned.id(), e);
      }
    }
    return answered;
  }
}
