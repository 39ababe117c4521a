package agent.datapath.programs.load;

import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.LoadException;
import agent.datapath.programs.compile.ProgramFile;
import agent.datapath.programs.compile.ProgramObjects;
import agent.maps.btf.Btf;
import agent.maps.btf.DataSectionLayout;
import agent.maps.btf.ElfObject;
import agent.maps.kernel.BpfMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Loads BPF objects with their constants set and with the maps of the node. For one thread at a
 * time.
 */
public final class ProgramLoader {
  /** The map of {@code maps/socket_map.h}. */
  static final String SOCKET_PEERS = "socket_peers";

  /** The programs that those of endpoints call, as {@code programs/endpoint.bpf.c} has them. */
  static final String NAT46_PROGRAMS = "nat46_programs";

  /** The map that outlives the programs of an object, and that libbpf creates with them. */
  private static final Map<ProgramFile, String> OF_PROGRAMS =
      Map.of(ProgramFile.SOCKET, SOCKET_PEERS, ProgramFile.ENDPOINT, NAT46_PROGRAMS);

  private final ProgramObjects objects;
  private final OpenMaps maps;
  private final RefusedPrograms refused;
  private final ProgramMaps kept;
  private byte[] parsed;
  private Optional<DataSectionLayout> layout = Optional.empty();

  /**
   * Creates a loader; objects are read on demand.
   *
   * @param refused learns which objects the kernel refuses
   * @param kept keeps the maps that outlive the programs of an object
   */
  public ProgramLoader(
      ProgramObjects objects, OpenMaps maps, RefusedPrograms refused, ProgramMaps kept) {
    this.objects = objects;
    this.maps = maps;
    this.refused = refused;
    this.kept = kept;
  }

  /**
   * Loads an object, or the closed programs where the kernel refuses one that has them for its
   * hooks (see {@link agent.datapath.programs.attach.ClosedPrograms}).
   *
   * @param constants writes the load-time constants; not called where the object has none
   * @return the loaded object, not attached; the caller closes it
   * @throws LoadException where the verifier rejects a program that closed ones cannot replace,
   *     with the last lines of its log
   * @throws agent.datapath.programs.compile.CompileException where the object cannot be read or
   *     compiled
   */
  public BpfObject load(ProgramFile program, Consumer<Constants> constants) {
    try {
      final BpfObject loaded = loadWhole(program, constants);
      refused.clear(program);
      return loaded;
    } catch (LoadException failure) {
      if (!program.canBeClosed()) {
        if (!program.isOptional()) {
          refused.add(program, failure, "their function is missing");
        }
        throw failure;
      }
      refused.add(program, failure, "packets of workloads are dropped instead");
      return loadWhole(ProgramFile.CLOSED, constants);
    }
  }

  private BpfObject loadWhole(ProgramFile program, Consumer<Constants> constants) {
    final byte[] elf = objects.read(program);
    final BpfObject object = BpfObject.open(elf, program.stem());
    kept.beginLoad();
    try {
      for (final String name : object.mapNames()) {
        final BpfMap map = maps.byName().get(name);
        if (map != null) {
          object.reuseMap(name, map.fd());
        } else if (OF_PROGRAMS.containsValue(name)) {
          kept.reuse(object, name, maps.pin(name));
        } else if (!isSection(name)) {
          throw new IllegalStateException(
              "object " + program.stem() + ": map " + name + " is not a map of the node");
        }
      }
      layoutOf(elf).ifPresent(found -> constants.accept(new Constants(found, object)));
      object.load();
      final String outliving = OF_PROGRAMS.get(program);
      if (outliving != null && (program != ProgramFile.ENDPOINT || maps.translates())) {
        kept.keep(object, outliving, maps.pin(outliving));
      }
      return object;
    } catch (RuntimeException failure) {
      object.close();
      throw failure;
    } finally {
      kept.endLoad();
    }
  }

  /**
   * Returns the layout of {@code .rodata}. Caches the last one, since parsing BTF for each endpoint
   * is slow and the object is the same.
   */
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

  /**
   * Returns whether the map is a data section such as .rodata, which is not shared between objects.
   */
  private static boolean isSection(String name) {
    return name.indexOf('.') >= 0;
  }
}
