package agent.identity;

import agent.types.Refusal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;

/**
 * Which labels are meant (decisions.md, section 5): a source or any, a key, and the values that
 * match. This is the one place that matches labels, for rules, selectors and selections alike.
 *
 * @param source the source of the label, or {@code any}
 * @param key the key of the label
 * @param values the values that match, sorted, each once; empty where every value matches. The
 *     empty value is that of a label without a value
 */
public record LabelPattern(String source, String key, List<String> values) {
  /** Stands for every source. */
  private static final String ANY_SOURCE = "any";

  /**
   * Sorts the values and checks that a label can match.
   *
   * @throws Refusal INVALID without a field
   */
  public LabelPattern {
    values = values.stream().distinct().sorted().toList();
    for (final String value : values.isEmpty() ? List.of("") : values) {
      Objects.requireNonNull(new Label(source, key, value));
    }
  }

  /**
   * Reads {@code [source:]key[=value]}. Without a source, and with source {@code any}, labels of
   * every source match; without a value, those that have none.
   *
   * @param field the field the text came from
   * @param text the pattern
   * @return the pattern
   * @throws Refusal INVALID, of that field
   */
  public static LabelPattern parse(String field, String text) {
    if (text == null) {
      throw Refusal.invalid(field, "is missing");
    }
    final int equals = text.indexOf('=');
    final String name = equals < 0 ? text : text.substring(0, equals);
    return of(field, name, List.of(equals < 0 ? "" : text.substring(equals + 1)));
  }

  /**
   * Reads a list of patterns; see {@link #parse}.
   *
   * @param field the field that holds the list
   * @param texts the patterns
   * @return the patterns in the same order
   * @throws Refusal INVALID, of {@code field[index]}
   */
  public static List<LabelPattern> parseAll(String field, List<String> texts) {
    final List<LabelPattern> patterns = new ArrayList<>(texts.size());
    for (final String text : texts) {
      patterns.add(parse(field + "[" + patterns.size() + "]", text));
    }
    return List.copyOf(patterns);
  }

  /**
   * Reads {@code [source:]key}.
   *
   * @param field the field the text came from
   * @param name source and key
   * @param values the values that match; empty where every value does
   * @return the pattern
   * @throws Refusal INVALID, of that field, where no label could match
   */
  public static LabelPattern of(String field, String name, Collection<String> values) {
    final int colon = name.indexOf(':');
    final String source = colon < 0 ? ANY_SOURCE : name.substring(0, colon);
    try {
      return new LabelPattern(source, name.substring(colon + 1), List.copyOf(values));
    } catch (Refusal refusal) {
      throw refusal.at(field);
    }
  }

  /** Returns whether this label is meant. */
  public boolean matches(Label label) {
    return label.key().equals(key)
        && (source.equals(ANY_SOURCE) || label.source().equals(source))
        && (values.isEmpty() || values.contains(label.value()));
  }

  /** Returns whether one of the labels is meant. */
  public boolean isMetBy(LabelSet labels) {
    for (final Label label : labels) {
      if (matches(label)) {
        return true;
      }
    }
    return false;
  }

  /** {@code source:key}, without the values. */
  public String name() {
    return source + ":" + key;
  }
}
