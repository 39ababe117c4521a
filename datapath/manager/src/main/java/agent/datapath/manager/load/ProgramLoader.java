package agent.datapath.manager.load;

import agent.bindings.BpfObject;
import agent.datapath.manager.compile.ProgramFile;
import agent.datapath.manager.compile.ProgramObjects;
import agent.maps.btf.Btf;
import agent.maps.btf.DataSectionLayout;
import agent.maps.btf.ElfObject;
import agent.maps.kernel.BpfMap;
import java.util.Optional;
import java.util.function.Consumer;

/** Loads objects that share the node's maps; for the thread that owns programs. */
public final class ProgramLoader {
  private final ProgramObjects objects;
  private final NodeMapSet maps;
  private byte[] parsed;
  private Optional<DataSectionLayout> layout = Optional.empty();

  /** Nothing is read before it is needed. */
  public ProgramLoader(ProgramObjects objects, NodeMapSet maps) {
    this.objects = objects;
    this.maps = maps;
  }

  /**
   * Loads a program.
   *
   * @param constants sets what is constant for this load; not called where the object has none
   * @return loaded and not attached; whoever attached it closes it
   * @throws agent.bindings.LoadException where the verifier refuses, with its last lines
   * @throws agent.datapath.manager.compile.CompileException where there is no object
   */
  public BpfObject load(ProgramFile program, Consumer<Constants> constants) {
    final byte[] elf = objects.read(program);
    final BpfObject object = BpfObject.open(elf, program.stem());
    try {
      for (final String name : object.mapNames()) {
        final BpfMap map = maps.byName().get(name);
        if (map != null) {
          object.reuseMap(name, map.fd());
        } else if (!isSection(name)) {
          throw new IllegalStateException(
              "object " + program.stem() + ": map " + name + " is none of the node's");
        }
      }
      layoutOf(elf).ifPresent(found -> constants.accept(new Constants(found, object)));
      object.load();
      return object;
    } catch (RuntimeException failure) {
      object.close();
      throw failure;
    }
  }

  /** Parsing BTF takes longer than it is worth for each endpoint: the same bytes come again. */
  private Optional<DataSectionLayout> layoutOf(byte[] elf) {
    if (elf != parsed) {
      final ElfObject object = ElfObject.parse(elf);
      layout =
          object.hasSection(Constants.SECTION)
              ? Optional.of(DataSectionLayout.of(object, Btf.of(object), Constants.SECTION))
              : Optional.empty();
      parsed = elf;
    }
    return layout;
  }

  /** .rodata and the like belong to one object. */
  private static boolean isSection(String name) {
    return name.indexOf('.') >= 0;
  }
}
