package interop;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.common.message.MessageExt;

/** Writes what happened to standard output, one line per event, and remembers the ids. */
final class Events {
  private Events() {}

  static void sent(String id, long beforeMs, long afterMs, long deliverMs) {
    write("sent", id, beforeMs, afterMs, deliverMs);
  }

  static void failed(String id, Exception cause) {
    write("failed", id, oneLine(cause));
  }

  static void cancelled(String id, long afterMs, String uniqueKey, String answeredKey) {
    write("cancelled", id, afterMs, uniqueKey, answeredKey);
  }

  static void notCancelled(String id, long beforeMs, Exception cause) {
    write("not-cancelled", id, beforeMs, oneLine(cause));
  }

  static void received(String event, MessageExt message, long nowMs) {
    write(event, nowMs, message.getReconsumeTimes(), text(message.getTags()),
        text(message.getKeys()), text(message.getUserProperty("interop-note")),
        Base64.getEncoder().encodeToString(message.getBody()));
  }

  /** The id is what stands before the first bar of the body. */
  static String idOf(MessageExt message) {
    return new String(message.getBody(), StandardCharsets.UTF_8).split("\\|", 2)[0];
  }

  private static String oneLine(Exception cause) {
    return String.valueOf(cause).replaceAll("\\s+", " ");
  }

  private static String text(String value) {
    return value == null ? "" : value;
  }

  private static void write(Object... columns) {
    StringBuilder line = new StringBuilder();
    for (Object column : columns) {
      line.append(line.length() == 0 ? "" : "\t").append(column);
    }
    synchronized (System.out) {
      System.out.println(line);
      System.out.flush();
    }
  }

  /** Distinct ids seen so far; waits until there are enough of them. */
  static final class Seen {
    private final Set<String> ids = ConcurrentHashMap.newKeySet();

    void add(String id) {
      if (ids.add(id)) {
        synchronized (this) {
          notifyAll();
        }
      }
    }

    /** Returns false when the time is up first. */
    synchronized boolean await(int count, long untilMs) throws InterruptedException {
      while (ids.size() < count) {
        long leftMs = untilMs - System.currentTimeMillis();
        if (leftMs <= 0) {
          return false;
        }
        wait(leftMs);
      }
      return true;
    }

    /** Returns when this id was seen, or when the time is up. */
    synchronized void awaitOne(String id, long untilMs) throws InterruptedException {
      long leftMs = untilMs - System.currentTimeMillis();
      while (!ids.contains(id) && leftMs > 0) {
        wait(leftMs);
        leftMs = untilMs - System.currentTimeMillis();
      }
    }
  }
}
