package agent.maps.layout;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The constants of a C enum as Java declares them; {@code LayoutCheck} compares them with the BTF
 * of the objects.
 *
 * @param name of the C enum
 * @param constants maps the C name of each constant to its number
 */
public record EnumSpec(String name, Map<String, Long> constants) {
  public EnumSpec {
    constants = Collections.unmodifiableMap(new LinkedHashMap<>(constants));
  }

  /** Creates a specification of constants that are plain numbers in Java. */
  static EnumSpec of(String name, Map<String, Integer> constants) {
    final Map<String, Long> numbers = new LinkedHashMap<>();
    constants.forEach((constant, number) -> numbers.put(constant, number.longValue()));
    return new EnumSpec(name, numbers);
  }

  /**
   * Creates a specification in which every Java constant stands for the C constant {@code prefix +
   * name}.
   */
  public static EnumSpec of(String name, String prefix, Numbered[] constants) {
    final Map<String, Long> numbers = new LinkedHashMap<>();
    for (final Numbered constant : constants) {
      numbers.put(prefix + constant.name(), (long) constant.number());
    }
    return new EnumSpec(name, numbers);
  }
}
