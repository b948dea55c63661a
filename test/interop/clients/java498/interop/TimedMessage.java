package interop;

import org.apache.rocketmq.common.message.Message;

/** Times as a 4.x program sets them: a level, or the properties that a 5.x broker reads. */
final class TimedMessage {
  private TimedMessage() {}

  /** Returns the absolute deliver time in milliseconds, or -1 when the broker works it out. */
  static long setTime(Message message, String kind, long value, long nowMs) {
    switch (kind) {
      case "plain":
        return -1;
      case "level":
        message.setDelayTimeLevel((int) value);
        return -1;
      case "delay-sec":
        message.putUserProperty("TIMER_DELAY_SEC", Long.toString(value));
        return -1;
      case "delay-ms":
        message.putUserProperty("TIMER_DELAY_MS", Long.toString(value));
        return -1;
      case "deliver-ms":
        message.putUserProperty("TIMER_DELIVER_MS", Long.toString(nowMs + value));
        return nowMs + value;
      default:
        throw new IllegalArgumentException("unknown kind " + kind);
    }
  }
}
