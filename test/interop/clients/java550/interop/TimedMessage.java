package interop;

import org.apache.rocketmq.common.message.Message;

/** Times as a 5.x program sets them. */
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
        message.setDelayTimeSec(value);
        return -1;
      case "delay-ms":
        message.setDelayTimeMs(value);
        return -1;
      case "deliver-ms":
        message.setDeliverTimeMs(nowMs + value);
        return nowMs + value;
      default:
        throw new IllegalArgumentException("unknown kind " + kind);
    }
  }
}
