package agent.identity;

import agent.types.PlainText;
import agent.types.Refusal;
import java.util.Comparator;
import java.util.Objects;

/**
 * One label. Its display form is {@code source:key} where the value is empty and {@code
 * source:key=value} otherwise; that form reads back to the same label. Ordered by source, key and
 * value.
 *
 * @param source where the label comes from; never empty, holds neither {@code :} nor {@code =}
 * @param key the key; never empty, holds no {@code =}
 * @param value the value; empty where there is none
 */
public record Label(String source, String key, String value) implements Comparable<Label> {
  /** The source of a label that names none. */
  public static final String UNSPECIFIED = "unspec";

  /** The source of the labels of reserved identities. */
  public static final String RESERVED = "reserved";

  /** The source of the labels of CIDR identities. */
  public static final String CIDR = "cidr";

  /** The source of the labels of names of DNS, whose addresses have an identity in common. */
  public static final String FQDN = "fqdn";

  /** The source of the labels of services, whose backends have an identity in common. */
  public static final String SERVICE = "service";

  private static final int LONGEST = 1024;
  private static final Comparator<Label> ORDER =
      Comparator.comparing(Label::source).thenComparing(Label::key).thenComparing(Label::value);

  /**
   * Checks the parts.
   *
   * @throws Refusal INVALID without a field
   */
  public Label {
    Objects.requireNonNull(source, "source");
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(value, "value");
    final String fault = faultOf(source, key, value);
    if (fault != null) {
      throw Refusal.invalid("", fault);
    }
  }

  private static String faultOf(String source, String key, String value) {
    final String shown = "'" + source + ":" + key + (value.isEmpty() ? "" : "=" + value) + "'";
    if (key.isEmpty()) {
      return shown + " is not a valid label: the key is missing";
    }
    if (source.isEmpty() || source.indexOf(':') >= 0 || source.indexOf('=') >= 0) {
      return shown + " is not a valid label: '" + source + "' is not a valid source";
    }
    if (key.indexOf('=') >= 0) {
      return shown + " is not a valid label: the key contains '='";
    }
    if (source.length() + key.length() + value.length() > LONGEST) {
      return "label is longer than " + LONGEST + " characters";
    }
    return isPlain(source) && isPlain(key) && isPlain(value)
        ? null
        : "label contains a control or bidirectional character or ';'";
  }

  /** ';' ends a label in the form that is hashed, so that no two sets may share that form. */
  private static boolean isPlain(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) == ';') {
        return false;
      }
    }
    return PlainText.isPlain(text);
  }

  /**
   * Reads {@code [source:]key[=value]}. A colon after the first {@code =} belongs to the value, and
   * one after the source to the key. Without a source it is {@link #UNSPECIFIED}.
   *
   * @param text the label
   * @return the label
   * @throws Refusal INVALID without a field
   */
  public static Label parse(String text) {
    if (text == null) {
      throw Refusal.invalid("", "is missing");
    }
    final int equals = text.indexOf('=');
    final String name = equals < 0 ? text : text.substring(0, equals);
    final String value = equals < 0 ? "" : text.substring(equals + 1);
    final int colon = name.indexOf(':');
    return colon < 0
        ? new Label(UNSPECIFIED, name, value)
        : new Label(name.substring(0, colon), name.substring(colon + 1), value);
  }

  /**
   * Reads a label, and names the field in the refusal.
   *
   * @param field the field the text came from
   * @param text the label
   * @return the label
   * @throws Refusal INVALID, of that field
   */
  public static Label parse(String field, String text) {
    try {
      return parse(text);
    } catch (Refusal refusal) {
      throw refusal.at(field);
    }
  }

  /** Returns the label {@code reserved:name}. */
  public static Label reserved(String name) {
    return new Label(RESERVED, name, "");
  }

  @Override
  public int compareTo(Label other) {
    return ORDER.compare(this, other);
  }

  /** Returns the display form, always with the source. */
  @Override
  public String toString() {
    return value.isEmpty() ? source + ":" + key : source + ":" + key + "=" + value;
  }
}
