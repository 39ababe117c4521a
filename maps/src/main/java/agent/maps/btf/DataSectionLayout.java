package agent.maps.btf;

import agent.maps.btf.BtfType.DataSection;
import agent.maps.btf.BtfType.Slot;
import agent.maps.btf.BtfType.Variable;
import java.util.ArrayList;
import java.util.List;

/**
 * Offsets and sizes of the variables of a data section, with which the agent sets them before load.
 * The compiler leaves the offsets of global variables in BTF at 0 for the linker, so the offsets
 * come from the ELF symbols, as in libbpf (btf_fixup_datasec in libbpf.c).
 *
 * @param section name of the section, such as {@code .rodata}
 * @param length of the section in bytes
 * @param variables in the order of BTF
 */
public record DataSectionLayout(String section, int length, List<Location> variables) {
  /**
   * One variable.
   *
   * @param offset in the section, in bytes
   * @param size in bytes
   * @param typeName name of its struct, typedef or integer type
   */
  public record Location(String name, int offset, int size, String typeName) {}

  public DataSectionLayout {
    variables = List.copyOf(variables);
  }

  /**
   * Reads the layout of one section.
   *
   * @throws BtfException if section, BTF and symbols contradict each other
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
            "BTF: variable %s in %s: %d bytes at offset %d, BTF states %d bytes, section of %d bytes"
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
   * Returns the location of a variable.
   *
   * @throws BtfException if the section has no variable of that name
   */
  public Location variable(String name) {
    return variables.stream()
        .filter(location -> location.name().equals(name))
        .findFirst()
        .orElseThrow(() -> new BtfException("section " + section + ": no variable " + name));
  }
}
