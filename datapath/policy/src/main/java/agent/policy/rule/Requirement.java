package agent.policy.rule;

import agent.identity.LabelPattern;
import agent.identity.LabelSet;
import java.util.List;

/**
 * One requirement of a label selector.
 *
 * @param label the labels that are meant; its values are those of In and NotIn, and none with the
 *     other operators
 * @param operator whether such a label must be there or must not
 */
public record Requirement(LabelPattern label, Operator operator)
    implements Comparable<Requirement> {
  /** What a requirement asks of the label. */
  public enum Operator {
    IN("In"),
    NOT_IN("NotIn"),
    EXISTS("Exists"),
    DOES_NOT_EXIST("DoesNotExist");

    private final String text;

    Operator(String text) {
      this.text = text;
    }

    /** Returns the word of the rule language. */
    public String text() {
      return text;
    }
  }

  boolean isMetBy(LabelSet labels) {
    return switch (operator) {
      case IN, EXISTS -> label.isMetBy(labels);
      case NOT_IN, DOES_NOT_EXIST -> !label.isMetBy(labels);
    };
  }

  @Override
  public int compareTo(Requirement other) {
    return text().compareTo(other.text());
  }

  String text() {
    final String name = label.name();
    final List<String> values = label.values();
    return switch (operator) {
      case IN -> values.size() == 1 ? equality(name, values.getFirst()) : name + " In " + listed();
      case NOT_IN -> name + " NotIn " + listed();
      case EXISTS, DOES_NOT_EXIST -> name + " " + operator.text();
    };
  }

  private static String equality(String name, String value) {
    return value.isEmpty() ? name : name + "=" + value;
  }

  private String listed() {
    return "(" + String.join(", ", label.values()) + ")";
  }
}
