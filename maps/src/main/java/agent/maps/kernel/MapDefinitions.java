package agent.maps.kernel;

import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.MapSpec;
import agent.bindings.bpf.MapType;
import agent.maps.format.MapFormats;
import agent.maps.layout.PrefilterTable;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;

/** The definitions of a node's maps, read from the BTF of the shipped objects. Immutable. */
public final class MapDefinitions {
  private final Map<String, MapDefinition> definitions = new LinkedHashMap<>();

  private MapDefinitions() {}

  /**
   * Reads the map definitions of objects; nothing is loaded into the kernel.
   *
   * @param objects names without file name extensions, such as {@code endpoint}
   * @throws IllegalStateException if an object is not on the class path, if two objects declare
   *     different maps of one name, or if {@link MapCatalog} lacks a declared map
   * @throws agent.bindings.bpf.LoadException if libbpf cannot open an object
   */
  public static MapDefinitions of(String... objects) {
    final MapDefinitions maps = new MapDefinitions();
    for (final String name : objects) {
      try (BpfObject object = BpfObject.open(read(name), name)) {
        for (final MapSpec declared : object.maps()) {
          if (!MapType.isOfPrograms(declared.type())) {
            maps.add(name, declared);
          }
        }
      }
    }
    return maps;
  }

  private void add(String object, MapSpec declared) {
    final MapProperties map =
        MapCatalog.named(declared.name())
            .orElseThrow(
                () ->
                    new IllegalStateException(
                        "object "
                            + object
                            + ": map "
                            + declared.name()
                            + " is not a map of the node"));
    final MapDefinition definition = map.of(declared);
    final MapDefinition other = definitions.putIfAbsent(declared.name(), definition);
    if (other != null && !other.equals(definition)) {
      throw new IllegalStateException(
          "object %s: map %s is %s, another object declares %s"
              .formatted(object, declared.name(), declared.shape(), other.spec().shape()));
    }
  }

  private static byte[] read(String object) {
    final String path = "/bpf/" + object + ".bpf.o";
    try (InputStream stream = MapDefinitions.class.getResourceAsStream(path)) {
      if (stream == null) {
        throw new IllegalStateException("object " + path + " is not on the class path");
      }
      return stream.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException("object " + path, e);
    }
  }

  /** Returns all maps that the objects declare. */
  public Collection<MapDefinition> all() {
    return definitions.values();
  }

  /**
   * Returns the definition of one map.
   *
   * @throws IllegalStateException if no object declares the map
   */
  public MapDefinition get(MapProperties map) {
    final MapDefinition definition = definitions.get(map.name());
    if (definition == null) {
      throw new IllegalStateException("map " + map.name() + ": no object declares it");
    }
    return definition;
  }

  /**
   * Returns the definition of one policy map, such as {@code policy_00012}; its shape is that of
   * the inner maps of {@code policies}.
   */
  public MapDefinition policy(int number) {
    return MapCatalog.POLICY
        .of(get(MapCatalog.POLICIES).spec().inner())
        .withName("policy_%05d".formatted(number));
  }

  /** Returns the definition of a table of the prefilter with a number of slots. */
  public MapDefinition prefilterTable(PrefilterTable table, int slots) {
    return new MapDefinition(
        get(MapCatalog.PREFILTER_TABLES)
            .spec()
            .inner()
            .withName(PrefilterTables.mapName(table))
            .withMaxEntries(slots),
        MapFormats.prefilterTable(table),
        false);
  }
}
