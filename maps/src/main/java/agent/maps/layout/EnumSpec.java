package agent.maps.layout;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What Java believes of a C enum: held against BTF by {@code LayoutCheck}.
 *
 * @param name of the C enum
 * @param constants C name to number
 */
public record EnumSpec(String name, Map<String, Long> constants) {
  public EnumSpec {
    constants = Collections.unmodifiableMap(new LinkedHashMap<>(constants));
  }

  /** Every Java constant stands for the C constant {@code prefix + name}. */
  public static EnumSpec of(String name, String prefix, Numbered[] constants) {
    final Map<String, Long> numbers = new LinkedHashMap<>();
    for (final Numbered constant : constants) {
      numbers.put(prefix + constant.name(), (long) constant.number());
    }
    return new EnumSpec(name, numbers);
  }
}
