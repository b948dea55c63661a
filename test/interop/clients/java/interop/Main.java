package interop;

import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.MessageExt;

/** Sends a plan, consumes, or both. See docs/operations/interop.md for arguments and output. */
public final class Main {
  private Main() {}

  public static void main(String[] arguments) {
    int exitCode = 0;
    try {
      Settings settings = new Settings(arguments);
      if (settings.number("retry", 0) > 0) {
        new RetryRun(settings).run();
      } else {
        run(settings);
      }
    } catch (Exception e) {
      System.err.println(e);
      exitCode = 1;
    }
    System.exit(exitCode); // the clients' own threads must not keep a finished program alive
  }

  private static void run(Settings settings) throws Exception {
    List<PlannedMessage> plan =
        settings.plan() == null ? List.of() : PlannedMessage.readAll(settings.plan());
    int expected = (int) settings.number("receive", 0);
    DefaultMQProducer producer = plan.isEmpty() ? null : settings.startProducer();
    DefaultMQPushConsumer consumer = null;
    Events.Seen seen = new Events.Seen();
    Events.Seen warm = new Events.Seen();
    if (settings.number("warmup", 0) > 0) {
      Sending.warmUp(producer, settings);
    }
    if (expected > 0) {
      consumer = settings.consumer(settings.text("group"));
      consumer.subscribe(settings.text("topic"), "*");
      consumer.registerMessageListener(listener(seen, warm));
      consumer.start();
    }
    if (settings.number("warmup", 0) > 0 && !warm.await(1, settings.untilMs)) {
      throw new IllegalStateException("the first message did not arrive");
    }
    Map<String, Sending.Answered> answered = Sending.all(producer, settings, plan);
    for (String[] cancel : settings.cancels()) {
      Cancelling.one(producer, settings, cancel[0], cancel[1], answered, seen);
    }
    if (consumer != null) {
      seen.await(expected, settings.untilMs);
      Thread.sleep(settings.number("quietMs", 0)); // time for what should not come
      consumer.shutdown();
    }
    if (producer != null) {
      producer.shutdown();
    }
  }

  private static MessageListenerConcurrently listener(Events.Seen seen, Events.Seen warm) {
    return (messages, context) -> {
      long nowMs = System.currentTimeMillis();
      for (MessageExt message : messages) {
        String id = Events.idOf(message);
        if (id.equals("warmup")) {
          warm.add(id);
        } else {
          Events.received("received", message, nowMs);
          seen.add(id);
        }
      }
      return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
    };
  }
}
