package interop;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.common.message.Message;

/** One line of a plan: what to send. See docs/operations/interop.md for the columns. */
record PlannedMessage(
    String id, String kind, long value, String tag, String keys, String note, String body) {

  static List<PlannedMessage> readAll(Path file) throws IOException {
    List<PlannedMessage> plan = new ArrayList<>();
    for (String line : Files.readAllLines(file)) {
      String[] columns = line.split("\t", -1);
      plan.add(new PlannedMessage(columns[0], columns[1], Long.parseLong(columns[2]), columns[3],
          columns[4], columns[5], columns[6]));
    }
    return plan;
  }

  /** The message without its time. */
  Message toMessage(String topic) {
    Message message = new Message(topic, tag, body.getBytes(StandardCharsets.UTF_8));
    message.setKeys(keys);
    message.putUserProperty("interop-note", note);
    return message;
  }
}
