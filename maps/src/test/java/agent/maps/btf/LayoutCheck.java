package agent.maps.btf;

import agent.maps.btf.BtfType.Array;
import agent.maps.btf.BtfType.Composite;
import agent.maps.btf.BtfType.Constant;
import agent.maps.btf.BtfType.Int;
import agent.maps.layout.EnumSpec;
import agent.maps.layout.StructSpec;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * Compares the structs and enums that Java declares with BTF. Every member, its bits, its type with
 * its byte order, nested structs, every enum value and total sizes must agree; what is missing on
 * either side is a mismatch.
 */
final class LayoutCheck {
  private final Btf btf;
  private final List<String> mismatches = new ArrayList<>();

  LayoutCheck(Btf btf) {
    this.btf = btf;
  }

  /** Returns the struct of that name; a union or a forward declaration is none. */
  static Optional<Composite> struct(Btf btf, String name) {
    return btf.find(Composite.class, name).filter(type -> !type.union());
  }

  /** Returns one line for each mismatch found so far. */
  List<String> mismatches() {
    return List.copyOf(mismatches);
  }

  /** Checks one struct and returns this. */
  LayoutCheck struct(StructSpec spec) {
    final Optional<Composite> found = struct(btf, spec.name());
    if (found.isEmpty()) {
      mismatches.add("struct " + spec.name() + ": not in BTF");
    } else {
      struct(spec, found.get());
    }
    return this;
  }

  private void struct(StructSpec spec, Composite composite) {
    final String where = "struct " + spec.name();
    if (spec.length() != composite.size()) {
      differ(where + ": size", spec.length(), composite.size());
    }
    final Map<String, BtfType.Member> members = new LinkedHashMap<>();
    for (final BtfType.Member member : composite.members()) {
      if (member.name().isEmpty() || members.put(member.name(), member) != null) {
        mismatches.add(where + ": a member without a name of its own in C: " + member);
      }
    }
    for (final StructSpec.Member member : spec.members()) {
      final BtfType.Member inC = members.remove(member.name());
      if (inC == null) {
        mismatches.add(where + "." + member.name() + ": not in C, or twice in Java");
      } else {
        member(where + "." + member.name(), member, inC);
      }
    }
    for (final String name : members.keySet()) {
      mismatches.add(where + "." + name + ": not in Java");
    }
  }

  private void member(String where, StructSpec.Member inJava, BtfType.Member inC) {
    if (inJava.bitOffset() != inC.bitOffset()) {
      differ(where + ": offset in bits", inJava.bitOffset(), inC.bitOffset());
    }
    if (inJava.bitWidth() != inC.bitWidth()) {
      differ(where + ": width in bits, 0 for no bit field", inJava.bitWidth(), inC.bitWidth());
    }
    int elementType = inC.type();
    int count = 0;
    if (btf.resolve(elementType) instanceof Array array) {
      count = array.count();
      elementType = array.elementType();
    }
    if (inJava.count() != count) {
      differ(where + ": elements, 0 for no array", inJava.count(), count);
    }
    if (inJava.scalar() != null) {
      scalar(where, inJava.scalar(), elementType);
    } else {
      nested(where, inJava.struct(), elementType);
    }
  }

  private void scalar(String where, StructSpec.Scalar scalar, int type) {
    final String typedef = "__" + scalar.name().toLowerCase(Locale.ROOT);
    final String declared = btf.declaredName(type);
    if (!typedef.equals(declared)) {
      differ(where + ": type", typedef, declared);
    }
    if (!(btf.resolve(type) instanceof Int number)) {
      differ(where + ": type", "an integer", btf.resolve(type));
      return;
    }
    final int bits = Integer.parseInt(scalar.name().replaceAll("\\D", ""));
    final int length = bits / Byte.SIZE;
    if (number.size() != length || number.bits() != bits || number.signed()) {
      differ(where + ": type", length + " bytes unsigned", number);
    }
  }

  private void nested(String where, StructSpec spec, int type) {
    if (btf.resolve(type) instanceof final Composite composite
        && !composite.union()
        && composite.name().equals(spec.name())) {
      struct(spec, composite);
    } else {
      differ(where + ": type", "struct " + spec.name(), btf.resolve(type));
    }
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
