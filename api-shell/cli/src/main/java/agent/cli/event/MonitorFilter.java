package agent.cli.event;

import agent.cli.call.Invocation;
import agent.cli.grammar.UsageException;
import agent.client.MonitorClient;
import agent.client.MonitorEvent;
import agent.client.MonitorEvent.End;
import agent.client.MonitorEvent.Place;
import agent.client.MonitorEvent.Translation;
import java.net.InetAddress;
import java.util.List;
import java.util.function.Predicate;

/**
 * Which events {@code agentctl monitor} and {@code agentctl observe} show by their ends. Values of
 * one option are alternatives; several options have to match all. What the agent does matches where
 * no option is about packets and requests.
 */
final class MonitorFilter {
  static final String FROM = "--from";
  static final String TO = "--to";
  static final String RELATED = "--related-to";
  static final String REASON = "--drop-reason";

  private final List<Predicate<End>> from;
  private final List<Predicate<End>> to;
  private final List<Predicate<End>> related;
  private final List<String> reasons;

  private MonitorFilter(
      List<Predicate<End>> from,
      List<Predicate<End>> to,
      List<Predicate<End>> related,
      List<String> reasons) {
    this.from = from;
    this.to = to;
    this.related = related;
    this.reasons = reasons;
  }

  /**
   * Reads the options.
   *
   * @param known the drop reasons of the agent
   */
  static MonitorFilter of(Invocation call, EndNames names, List<String> known) {
    return new MonitorFilter(
        ends(call.options(FROM), names),
        ends(call.options(TO), names),
        ends(call.options(RELATED), names),
        reasons(call, known));
  }

  /** Returns the wanted drop reasons; they may be spelled as in metrics, with underscores. */
  static List<String> reasons(Invocation call, List<String> known) {
    final List<String> reasons =
        call.options(REASON).stream().map(reason -> reason.replace('_', '-')).toList();
    for (final String reason : reasons) {
      if (!known.contains(reason)) {
        throw new UsageException(
            REASON + ": '" + reason + "' is not one of " + String.join(", ", known));
      }
    }
    return reasons;
  }

  private static List<Predicate<End>> ends(List<String> texts, EndNames names) {
    return texts.stream().map(text -> end(text, names)).toList();
  }

  private static Predicate<End> end(String text, EndNames names) {
    if (text.matches("\\d{1,5}")) {
      return endpoint(Long.parseLong(text), names);
    }
    if (text.indexOf('=') < 0 && (text.indexOf(':') >= 0 || text.matches("[0-9.]+"))) {
      try {
        final InetAddress address = MonitorClient.address(text);
        return end -> address.equals(end.address());
      } catch (IllegalArgumentException noAddress) {
        // a label such as reserved:world
      }
    }
    return label(text, names);
  }

  /** Returns what the addresses of the endpoint match. */
  static Predicate<End> endpoint(long id, EndNames names) {
    return end -> {
      final EndNames.Endpoint endpoint = names.endpoint(end.address());
      return endpoint != null && endpoint.id() == id;
    };
  }

  /** Returns what an end with the label matches; without a source one of any source is meant. */
  static Predicate<End> label(String text, EndNames names) {
    return end -> names.labels(end.identity()).stream().anyMatch(label -> isNamed(label, text));
  }

  private static boolean isNamed(String label, String text) {
    return label.equals(text) || label.substring(label.indexOf(':') + 1).equals(text);
  }

  boolean matches(MonitorEvent event) {
    final boolean isAny = from.isEmpty() && to.isEmpty() && related.isEmpty() && reasons.isEmpty();
    if (!isAny && event instanceof Translation translation) {
      return matches(translation);
    }
    final ObservedFlow flow = isAny ? null : ObservedFlow.of(event);
    return isAny || flow != null && matches(flow);
  }

  boolean matches(ObservedFlow flow) {
    return any(from, flow.source())
        && any(to, flow.destination())
        && (any(related, flow.source()) || any(related, flow.destination()))
        && (reasons.isEmpty() || reasons.contains(flow.dropReason()));
  }

  /** It goes to its frontend and to its backend; a masqueraded one comes from two addresses. */
  private boolean matches(Translation translation) {
    final boolean isMasqueraded = translation.place() == Place.MASQUERADE;
    return reasons.isEmpty()
        && (any(from, translation.source()) || isMasqueraded && any(from, translation.frontend()))
        && (any(to, translation.backend()) || !isMasqueraded && any(to, translation.frontend()))
        && (any(related, translation.source())
            || any(related, translation.frontend())
            || any(related, translation.backend()));
  }

  private static boolean any(List<Predicate<End>> ends, End end) {
    return ends.isEmpty() || ends.stream().anyMatch(one -> one.test(end));
  }
}
