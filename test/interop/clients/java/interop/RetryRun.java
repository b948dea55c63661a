package interop;

import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.MessageExt;

/** A consumer that fails every message until it is dead, and one that reads the dead letters. */
final class RetryRun {
  /** A consumer whose first heartbeats collide starts only with the next one, 30 s later. */
  private static final long LETTERS_MS = 60_000;

  private final Settings settings;
  private final int retries;
  private final int delayLevel;
  private final Events.Seen exhausted = new Events.Seen();
  private final Events.Seen warm = new Events.Seen();
  private final Events.Seen dead = new Events.Seen();

  RetryRun(Settings settings) {
    this.settings = settings;
    this.retries = (int) settings.number("retry", 0);
    this.delayLevel = (int) settings.number("retryLevel", 0);
  }

  void run() throws Exception {
    List<PlannedMessage> plan = PlannedMessage.readAll(settings.plan());
    String group = settings.text("group");
    DefaultMQProducer producer = settings.startProducer();
    Sending.warmUp(producer, settings);
    DefaultMQPushConsumer failing = settings.consumer(group);
    failing.setMaxReconsumeTimes(retries);
    failing.subscribe(settings.text("topic"), "*");
    failing.registerMessageListener(failEverything());
    failing.start();
    warm.await(1, settings.untilMs);
    Sending.all(producer, settings, plan);
    exhausted.await(plan.size(), settings.untilMs);
    Thread.sleep(settings.number("quietMs", 0)); // time for an attempt too many
    failing.shutdown();

    DefaultMQPushConsumer letters = settings.consumer(group + "-letters");
    letters.subscribe("%DLQ%" + group, "*");
    letters.registerMessageListener(readLetters());
    letters.start();
    dead.await(plan.size(), System.currentTimeMillis() + LETTERS_MS);
    Thread.sleep(settings.number("quietMs", 0)); // time for a letter too many
    letters.shutdown();
    producer.shutdown();
  }

  private MessageListenerConcurrently failEverything() {
    return (messages, context) -> {
      long nowMs = System.currentTimeMillis();
      for (MessageExt message : messages) {
        String id = Events.idOf(message);
        if (id.equals("warmup")) {
          warm.add(id);
          return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        }
        Events.received("received", message, nowMs);
        if (message.getReconsumeTimes() >= retries) {
          exhausted.add(id);
        }
      }
      context.setDelayLevelWhenNextConsume(delayLevel);
      return ConsumeConcurrentlyStatus.RECONSUME_LATER;
    };
  }

  private MessageListenerConcurrently readLetters() {
    return (messages, context) -> {
      long nowMs = System.currentTimeMillis();
      for (MessageExt message : messages) {
        Events.received("dead", message, nowMs);
        dead.add(Events.idOf(message));
      }
      return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
    };
  }
}
