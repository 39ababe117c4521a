package agent.maps.mirror;

import agent.bindings.Errno;
import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.MapDescription;
import agent.bindings.bpf.MapType;
import agent.maps.format.MapFormat;
import agent.maps.format.MapFormats;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.BpfMapException;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapDefinition;
import agent.maps.kernel.MapProperties;
import agent.maps.mirror.MapVisitor.MapSummary;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Reads the maps that an agent has pinned, while it runs or not, and writes none. A map whose pin
 * has the name of another layout is shown in hexadecimal.
 */
public final class PinnedMaps {
  private static final Pattern POLICY_MAP = Pattern.compile("policy_(\\d{5})");

  private final Path folder;

  /**
   * Creates a reader.
   *
   * @param bpfRoot the BPF file system that the agent was started with
   */
  public PinnedMaps(Path bpfRoot) {
    folder = bpfRoot.resolve("agent").resolve("maps");
  }

  /**
   * Returns the pinned maps in the order of their names.
   *
   * @throws IOException if the folder of the pins cannot be read
   * @throws BpfMapException if a map cannot be read
   */
  public List<MapSummary> list() throws IOException {
    final List<Path> files;
    try (Stream<Path> pins = Files.list(folder)) {
      files =
          pins.filter(pin -> Files.isRegularFile(pin, LinkOption.NOFOLLOW_LINKS)).sorted().toList();
    }
    final List<MapSummary> summaries = new ArrayList<>();
    for (final Path pin : files) {
      summaries.add(summary(pin));
    }
    return summaries;
  }

  /**
   * Passes the entries of a map to a visitor.
   *
   * @param name of the map, or of its pin
   * @return false if no map of that name is pinned
   * @throws IOException if the folder of the pins cannot be read
   * @throws BpfMapException if the map cannot be read
   */
  public boolean read(String name, MapVisitor visitor) throws IOException {
    final Optional<Path> pin;
    try (Stream<Path> pins = Files.list(folder)) {
      pin =
          pins.filter(path -> fileName(path).equals(name) || nameOf(path).equals(name))
              .sorted()
              .findFirst();
    }
    if (pin.isEmpty()) {
      return false;
    }
    try (BpfMap map = open(pin.get())) {
      visitor.onMap(summary(map), System.currentTimeMillis());
      final MapReading reading = new MapReading();
      reading.begin(map, List.of(), visitor);
      reading.fromKernel(map);
    }
    return true;
  }

  private static String fileName(Path pin) {
    return pin.getFileName().toString();
  }

  private static Optional<MapProperties> nodeMap(Path pin) {
    return MapCatalog.ALL.stream().filter(map -> map.pinName().equals(fileName(pin))).findFirst();
  }

  private static String nameOf(Path pin) {
    return nodeMap(pin).map(MapProperties::name).orElseGet(() -> fileName(pin));
  }

  private static MapSummary summary(Path pin) throws IOException {
    try (BpfMap map = open(pin)) {
      return summary(map);
    }
  }

  private static MapSummary summary(BpfMap map) {
    return MapSummary.of(map, map.countEntries());
  }

  private static BpfMap open(Path pin) throws IOException {
    final int fd = BpfFileSystem.open(pin);
    if (fd < 0) {
      throw new BpfMapException("map " + pin + ": open: " + Errno.name(fd), -fd);
    }
    final MapDescription found = MapDescription.of(fd);
    final MapFormat format =
        nodeMap(pin)
            .map(MapProperties::format)
            .orElseGet(
                () ->
                    POLICY_MAP.matcher(fileName(pin)).matches()
                        ? MapFormats.POLICY
                        : MapFormats.hexadecimal(found.keySize(), found.valueSize()));
    final BpfMap map =
        BpfMap.adopt(
            fd,
            new MapDefinition(found.spec().withName(nameOf(pin)), format, false),
            pin.toString());
    if (found.type() == MapType.ARRAY_OF_MAPS) {
      findSlots(map, pin.getParent());
    }
    return map;
  }

  /** Looks up the slots of the pinned policy maps: a walk over all slots can take minutes. */
  private static void findSlots(BpfMap policies, Path folder) throws IOException {
    final EntryBuffer slot = new EntryBuffer(policies);
    try (Stream<Path> pins = Files.list(folder)) {
      pins.map(pin -> POLICY_MAP.matcher(fileName(pin)))
          .filter(Matcher::matches)
          .forEach(
              name -> {
                slot.key().putInt(0, Integer.parseInt(name.group(1)));
                policies.lookup(slot);
              });
    }
  }
}
