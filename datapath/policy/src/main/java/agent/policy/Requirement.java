package agent.policy;

import agent.identity.Label;
import agent.identity.LabelSet;
import java.util.List;

/**
 * One requirement of a label selector.
 *
 * @param source the source of the label, or {@link #ANY_SOURCE}
 * @param key the key of the label
 * @param operator what is required
 * @param values the values of In and NotIn, in order
 */
record Requirement(String source, String key, Operator operator, List<String> values)
    implements Comparable<Requirement> {
  /** Stands for every source. */
  static final String ANY_SOURCE = "any";

  enum Operator {
    IN("In"),
    NOT_IN("NotIn"),
    EXISTS("Exists"),
    DOES_NOT_EXIST("DoesNotExist");

    private final String text;

    Operator(String text) {
      this.text = text;
    }

    String text() {
      return text;
    }
  }

  Requirement {
    values = values.stream().distinct().sorted().toList();
  }

  boolean isMetBy(LabelSet labels) {
    return switch (operator) {
      case IN -> hasLabel(labels, true);
      case NOT_IN -> !hasLabel(labels, true);
      case EXISTS -> hasLabel(labels, false);
      case DOES_NOT_EXIST -> !hasLabel(labels, false);
    };
  }

  private boolean hasLabel(LabelSet labels, boolean withValue) {
    for (final Label label : labels) {
      if (label.key().equals(key)
          && (source.equals(ANY_SOURCE) || label.source().equals(source))
          && (!withValue || values.contains(label.value()))) {
        return true;
      }
    }
    return false;
  }

  /** Whether it asks for a label of the agent's own, such as {@code reserved:host}. */
  boolean asksForReserved() {
    return (operator == Operator.IN || operator == Operator.EXISTS)
        && (source.equals(Label.RESERVED) || source.equals(Label.CIDR));
  }

  @Override
  public int compareTo(Requirement other) {
    return text().compareTo(other.text());
  }

  String text() {
    final String name = source + ":" + key;
    return switch (operator) {
      case IN -> values.size() == 1 ? equality(name) : name + " In " + listed();
      case NOT_IN -> name + " NotIn " + listed();
      case EXISTS, DOES_NOT_EXIST -> name + " " + operator.text();
    };
  }

  private String equality(String name) {
    return values.getFirst().isEmpty() ? name : name + "=" + values.getFirst();
  }

  private String listed() {
    return "(" + String.join(", ", values) + ")";
  }
}
