package agent.maps.btf;

import agent.maps.btf.BtfType.Array;
import agent.maps.btf.BtfType.Composite;
import agent.maps.btf.BtfType.Member;
import agent.maps.btf.BtfType.Ptr;
import agent.maps.btf.BtfType.Variable;
import java.util.ArrayList;
import java.util.List;

/**
 * A map as an object declares it in its section {@code .maps}.
 *
 * @param type number of {@code enum bpf_map_type}
 * @param keyName of the key's type: a struct's name or a typedef's; empty where only a size is
 *     declared
 * @param valueName of the value's type; empty where only a size is declared
 */
record BtfMap(
    String name,
    int type,
    String keyName,
    int keySize,
    String valueName,
    int valueSize,
    int maxEntries,
    int flags) {
  private static final String SECTION = ".maps";

  /**
   * All maps that the object declares.
   *
   * @throws BtfException where a declaration has a form that is not known
   */
  static List<BtfMap> of(Btf btf) {
    final List<BtfMap> maps = new ArrayList<>();
    btf.dataSection(SECTION)
        .ifPresent(
            section ->
                section
                    .slots()
                    .forEach(
                        slot -> {
                          final Variable variable = (Variable) btf.type(slot.variable());
                          maps.add(declared(btf, variable.name(), variable.type()));
                        }));
    return maps;
  }

  private static BtfMap declared(Btf btf, String name, int structType) {
    if (!(btf.resolve(structType) instanceof Composite declaration)) {
      throw new BtfException("BTF: map " + name + " is not declared by a struct");
    }
    int type = 0;
    int maxEntries = 0;
    int flags = 0;
    int key = 0;
    int value = 0;
    int keySize = 0;
    int valueSize = 0;
    for (final Member member : declaration.members()) {
      switch (member.name()) {
        case "type" -> type = number(btf, name, member);
        case "max_entries" -> maxEntries = number(btf, name, member);
        case "map_flags" -> flags = number(btf, name, member);
        case "key_size" -> keySize = number(btf, name, member);
        case "value_size" -> valueSize = number(btf, name, member);
        case "key" -> key = target(btf, name, member);
        case "value" -> value = target(btf, name, member);
        case "values", "pinning" -> {
          // inner maps are declared on their own; pins are the agent's matter
        }
        default -> throw new BtfException("BTF: map " + name + ": unknown " + member.name());
      }
    }
    return new BtfMap(
        name,
        type,
        key == 0 ? "" : btf.declaredName(key),
        key == 0 ? keySize : btf.sizeOf(key),
        value == 0 ? "" : btf.declaredName(value),
        value == 0 ? valueSize : btf.sizeOf(value),
        maxEntries,
        flags);
  }

  private static int target(Btf btf, String map, Member member) {
    if (btf.resolve(member.type()) instanceof Ptr pointer) {
      return pointer.type();
    }
    throw new BtfException("BTF: map " + map + ": " + member.name() + " is not a pointer");
  }

  /** {@code __uint(name, n)} is a pointer to an array of n. */
  private static int number(Btf btf, String map, Member member) {
    if (btf.resolve(target(btf, map, member)) instanceof Array array) {
      return array.count();
    }
    throw new BtfException("BTF: map " + map + ": " + member.name() + " is not a number");
  }
}
