package agent.maps.btf;

import agent.maps.btf.BtfType.DataSection;
import agent.maps.btf.BtfType.Slot;
import agent.maps.btf.BtfType.Variable;
import java.util.ArrayList;
import java.util.List;

/**
 * Where the variables of a data section lie, so that they can be set before load. A compiler leaves
 * the offsets of global variables in BTF at 0 for the linker; the ELF symbols have them, as libbpf
 * finds them too (btf_fixup_datasec in libbpf.c).
 *
 * @param section name, such as {@code .rodata}
 * @param length of the section in bytes
 * @param variables in the order of BTF
 */
public record DataSectionLayout(String section, int length, List<Location> variables) {
  /**
   * One variable.
   *
   * @param offset in the section, in bytes
   * @param size in bytes
   * @param typeName of its type: a struct's name, a typedef's or an integer's
   */
  public record Location(String name, int offset, int size, String typeName) {}

  public DataSectionLayout {
    variables = List.copyOf(variables);
  }

  /**
   * Reads one section's layout.
   *
   * @throws BtfException where section, BTF and symbols do not agree
   */
  public static DataSectionLayout of(ElfObject object, Btf btf, String section) {
    final DataSection described =
        btf.dataSection(section)
            .orElseThrow(() -> new BtfException("BTF: no data section " + section));
    final int length = object.section(section).length;
    final List<Location> locations = new ArrayList<>();
    for (final Slot slot : described.slots()) {
      if (!(btf.type(slot.variable()) instanceof Variable variable)) {
        throw new BtfException("BTF: section " + section + ": " + slot + " is not a variable");
      }
      final int size = btf.sizeOf(variable.type());
      final int offset =
          object
              .symbol(section, variable.name())
              .map(symbol -> Math.toIntExact(symbol.offset()))
              .orElse(slot.offset());
      if (size != slot.size() || offset < 0 || offset + (long) size > length) {
        throw new BtfException(
            "BTF: variable %s in %s: %d bytes at %d, of which BTF says %d, in a section of %d"
                .formatted(variable.name(), section, size, offset, slot.size(), length));
      }
      locations.add(new Location(variable.name(), offset, size, btf.declaredName(variable.type())));
    }
    return new DataSectionLayout(section, length, locations);
  }

  public boolean has(String variable) {
    return variables.stream().anyMatch(location -> location.name().equals(variable));
  }

  /**
   * Where a variable lies.
   *
   * @throws BtfException where there is none of that name
   */
  public Location variable(String name) {
    return variables.stream()
        .filter(location -> location.name().equals(name))
        .findFirst()
        .orElseThrow(() -> new BtfException("section " + section + ": no variable " + name));
  }
}
