package agent.maps.kernel;

import agent.bindings.MapDescription;
import agent.bindings.MapType;
import agent.maps.format.MapFormat;
import agent.maps.format.MapFormats;
import agent.maps.layout.StructSpec;

/**
 * What a map is, before or beside the kernel's object of it.
 *
 * @param name in full, and the last part of its pin
 * @param type a number of {@link MapType}
 * @param keyStruct the key's layout, or null for a plain number
 * @param valueStruct the value's layout, or null for a plain number
 * @param keySize in bytes
 * @param valueSize in bytes
 * @param maxEntries at most; of a ring buffer its bytes
 * @param flags of {@code BPF_MAP_CREATE}
 * @param format of its keys and values
 * @param mirrorMode how the copy that readers see is kept
 */
public record MapDefinition(
    String name,
    int type,
    StructSpec keyStruct,
    StructSpec valueStruct,
    int keySize,
    int valueSize,
    int maxEntries,
    int flags,
    MapFormat format,
    MirrorMode mirrorMode) {

  static MapDefinition of(String name, int type, StructSpec key, StructSpec value, int maxEntries) {
    return new MapDefinition(
        name,
        type,
        key,
        value,
        key == null ? Integer.BYTES : key.length(),
        value == null ? Integer.BYTES : value.length(),
        maxEntries,
        0,
        MapFormats.hexadecimal(
            key == null ? Integer.BYTES : key.length(),
            value == null ? Integer.BYTES : value.length()),
        MirrorMode.DIRECT);
  }

  /** A map that was found and of which nothing more is known. */
  public static MapDefinition of(String name, MapDescription found) {
    return new MapDefinition(
        name,
        found.type(),
        null,
        null,
        found.keySize(),
        found.valueSize(),
        found.maxEntries(),
        found.flags(),
        MapFormats.hexadecimal(found.keySize(), found.valueSize()),
        MirrorMode.DIRECT);
  }

  /** The same map with sizes in place of structs. */
  MapDefinition withSizes(int key, int value) {
    return new MapDefinition(
        name, type, null, null, key, value, maxEntries, flags, format, mirrorMode);
  }

  MapDefinition withFlags(int bits) {
    return new MapDefinition(
        name,
        type,
        keyStruct,
        valueStruct,
        keySize,
        valueSize,
        maxEntries,
        bits,
        format,
        mirrorMode);
  }

  MapDefinition withText(MapFormat text, MirrorMode mode) {
    return new MapDefinition(
        name, type, keyStruct, valueStruct, keySize, valueSize, maxEntries, flags, text, mode);
  }

  /** The same map of another capacity. */
  public MapDefinition withMaxEntries(int entries) {
    return new MapDefinition(
        name, type, keyStruct, valueStruct, keySize, valueSize, entries, flags, format, mirrorMode);
  }

  /** The same map under another name. */
  public MapDefinition withName(String other) {
    return new MapDefinition(
        other,
        type,
        keyStruct,
        valueStruct,
        keySize,
        valueSize,
        maxEntries,
        flags,
        format,
        mirrorMode);
  }

  /** Whether a map that was found can be used for this one. */
  public boolean fits(MapDescription found) {
    return found.type() == type
        && found.keySize() == keySize
        && found.valueSize() == valueSize
        && found.maxEntries() == maxEntries
        && found.flags() == flags;
  }

  /** {@code lpm_trie, key 12 bytes, value 4 bytes, 16384 entries, flags 0x1}. */
  public String shape() {
    return shape(type, keySize, valueSize, maxEntries, flags);
  }

  /** The shape of a map that was found, in the words of {@link #shape()}. */
  public static String shape(MapDescription found) {
    return shape(
        found.type(), found.keySize(), found.valueSize(), found.maxEntries(), found.flags());
  }

  private static String shape(int type, int keySize, int valueSize, int maxEntries, int flags) {
    return MapType.name(type)
        + ", key "
        + keySize
        + " bytes, value "
        + valueSize
        + " bytes, "
        + maxEntries
        + " entries, flags 0x"
        + Integer.toHexString(flags);
  }
}
