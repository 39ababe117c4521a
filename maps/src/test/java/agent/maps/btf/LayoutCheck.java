package agent.maps.btf;

import agent.maps.btf.BtfType.Constant;
import agent.maps.layout.EnumSpec;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Compares the enums that Java declares with BTF. Every value must agree; what is missing on either
 * side is a mismatch.
 */
final class LayoutCheck {
  private final Btf btf;
  private final List<String> mismatches = new ArrayList<>();

  LayoutCheck(Btf btf) {
    this.btf = btf;
  }

  /** Returns one line for each mismatch found so far. */
  List<String> mismatches() {
    return List.copyOf(mismatches);
  }

  /** Checks one enum. */
  LayoutCheck enumeration(EnumSpec spec) {
    final String where = "enum " + spec.name();
    final Optional<BtfType.Enumeration> found = btf.find(BtfType.Enumeration.class, spec.name());
    if (found.isEmpty()) {
      mismatches.add(where + ": not in BTF");
      return this;
    }
    final Map<String, Long> constants = new LinkedHashMap<>();
    for (final Constant constant : found.get().constants()) {
      constants.put(constant.name(), constant.value());
    }
    spec.constants()
        .forEach(
            (name, number) -> {
              final Long inC = constants.remove(name);
              if (inC == null) {
                mismatches.add(where + "." + name + ": not in C");
              } else if (!inC.equals(number)) {
                differ(where + "." + name, number, inC);
              }
            });
    for (final String name : constants.keySet()) {
      mismatches.add(where + "." + name + ": not in Java");
    }
    return this;
  }

  private void differ(String what, Object inJava, Object inC) {
    mismatches.add(what + ": " + inJava + " in Java, " + inC + " in C");
  }
}
