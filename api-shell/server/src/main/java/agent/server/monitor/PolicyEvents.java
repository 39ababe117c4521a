package agent.server.monitor;

import agent.policy.repository.CommittedRules;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Publishes each commit of rules, when it is in force. */
public final class PolicyEvents implements Consumer<Supplier<CommittedRules>> {
  /** A part of what an event may have. */
  private static final int MOST_BYTES = 4096;

  /** Of a character that JSON escapes, and at most of one that is not ASCII. */
  private static final int LONGEST_CHARACTER = 6;

  private final AgentEvents events;

  /** Publishes to those who listen. */
  public PolicyEvents(AgentEvents events) {
    this.events = events;
  }

  @Override
  public void accept(Supplier<CommittedRules> commit) {
    if (!events.isHeard()) {
      return;
    }
    final CommittedRules rules = commit.get();
    final Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("kind", "policy");
    fields.put("revision", rules.revision());
    fields.put("rules", rules.size());
    fields.put("added", rules.added());
    fields.put("removed", rules.removed());
    final Set<String> labels = rules.labels();
    final List<String> shown = firstOf(labels);
    fields.put("labels", shown);
    if (shown.size() < labels.size()) {
      fields.put("labels-left-out", labels.size() - shown.size());
    }
    events.publish(fields);
  }

  private static List<String> firstOf(Set<String> labels) {
    final List<String> first = new ArrayList<>();
    int bytes = 0;
    for (final String label : labels) {
      bytes += written(label);
      if (bytes > MOST_BYTES) {
        break;
      }
      first.add(label);
    }
    return first;
  }

  /** Returns how many bytes of JSON a label takes at most, with quotes and a comma. */
  private static int written(String label) {
    int bytes = 3;
    for (int i = 0; i < label.length(); i++) {
      final char character = label.charAt(i);
      final boolean isPlain = character >= ' ' && character < 0x80;
      bytes += isPlain && character != '"' && character != '\\' ? 1 : LONGEST_CHARACTER;
    }
    return bytes;
  }
}
