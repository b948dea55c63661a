package interop;

import java.util.Map;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.producer.RecallMessageHandle;

/** Recalls a message that was sent with a time. */
final class Cancelling {
  private Cancelling() {}

  /** See docs/operations/interop.md for the ways. A message that was not sent is left out. */
  static void one(DefaultMQProducer producer, Settings settings, String way, String id,
      Map<String, Sending.Answered> answered, Events.Seen seen) throws InterruptedException {
    Sending.Answered sent = answered.get(id);
    if (sent == null) {
      return;
    }
    if (way.equals("handle-late")) {
      seen.awaitOne(id, settings.untilMs);
    }
    String topic = settings.text("topic");
    long beforeMs = System.currentTimeMillis();
    try {
      String answeredKey = producer.recallMessage(topic, handle(way, topic, sent));
      Events.cancelled(id, System.currentTimeMillis(), sent.result().getMsgId(), answeredKey);
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception e) {
      Events.notCancelled(id, beforeMs, e);
    }
  }

  private static String handle(String way, String topic, Sending.Answered sent) {
    SendResult result = sent.result();
    switch (way) {
      case "handle":
      case "handle-late":
        return result.getRecallHandle();
      case "five-fields":
        // Apache's broker writes the deliver time and one.
        return RecallMessageHandle.HandleV1.buildHandle(topic,
            result.getMessageQueue().getBrokerName(), String.valueOf(sent.deliverMs() + 1),
            result.getMsgId());
      default:
        throw new IllegalArgumentException("unknown way " + way);
    }
  }
}
