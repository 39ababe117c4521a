package agent.maps.kernel;

import agent.bindings.bpf.MapFlag;
import agent.bindings.bpf.MapSpec;
import agent.bindings.bpf.MapType;
import agent.maps.format.MapFormat;
import agent.maps.format.MapFormats;

/**
 * The definition of a map, independent of the kernel object: shape, text format and mirror.
 *
 * @param spec name, which is also the last component of the pin path, and shape
 * @param format of its keys and values
 * @param hasMirror whether {@code agent.maps.mirror} keeps a copy of the entries that the agent
 *     writes
 */
public record MapDefinition(MapSpec spec, MapFormat format, boolean hasMirror) {
  /** Creates a definition from a shape alone, with hexadecimal text and no mirror. */
  public static MapDefinition of(MapSpec spec) {
    return new MapDefinition(spec, MapFormats.hexadecimal(spec.keySize(), spec.valueSize()), false);
  }

  /** Returns the full name. */
  public String name() {
    return spec.name();
  }

  /** Returns a copy of this definition with another capacity. */
  public MapDefinition withMaxEntries(int entries) {
    return new MapDefinition(spec.withMaxEntries(entries), format, hasMirror);
  }

  /**
   * Returns a copy whose entries have their memory from the start, or only while they exist. Other
   * maps than hash maps have no choice: LRU tables and arrays are preallocated, tries are not.
   */
  public MapDefinition preallocated(boolean isPreallocated) {
    if (spec.type() != MapType.HASH) {
      return this;
    }
    final int others = spec.flags() & ~MapFlag.NO_PREALLOC;
    return new MapDefinition(
        spec.withFlags(isPreallocated ? others : others | MapFlag.NO_PREALLOC), format, hasMirror);
  }

  /** Returns a copy of this definition with another name. */
  public MapDefinition withName(String other) {
    return new MapDefinition(spec.withName(other), format, hasMirror);
  }
}
