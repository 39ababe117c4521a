package agent.datapath.manager.attach;

import agent.bindings.BindingsException;
import agent.bindings.BpfFileSystem;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The paths of all pins, under {@code <bpf-root>/agent}. */
public final class Pins {
  /** Name of the program, and of the pin of its link, for packets that the workload sends. */
  public static final String FROM_ENDPOINT = "from_endpoint";

  /** Name of the program, and of the pin of its link, for packets to the workload. */
  public static final String TO_ENDPOINT = "to_endpoint";

  private static final Pattern POLICY_MAP = Pattern.compile("policy_(\\d{5})");
  private static final Pattern ENDPOINT = Pattern.compile("[1-9]\\d{0,4}");

  private final Path maps;
  private final Path endpoints;
  private final Path devices;

  private Pins(Path root) {
    maps = root.resolve("maps");
    endpoints = root.resolve("endpoints");
    devices = root.resolve("devices");
  }

  /**
   * Mounts a BPF file system at the root where none is mounted, and creates the folders.
   *
   * @throws BindingsException where the file system cannot be mounted
   */
  public static Pins prepare(Path bpfRoot) {
    final Pins pins = new Pins(bpfRoot.resolve("agent"));
    try {
      Files.createDirectories(bpfRoot);
      if (!BpfFileSystem.isMounted(bpfRoot)) {
        BpfFileSystem.mount(bpfRoot);
      }
      Files.createDirectories(pins.maps);
      Files.createDirectories(pins.endpoints);
      Files.createDirectories(pins.devices);
    } catch (IOException failure) {
      throw new UncheckedIOException("bpf-root " + bpfRoot + ": " + failure, failure);
    }
    return pins;
  }

  /** Returns the pin path of a node map. */
  public Path map(String name) {
    return maps.resolve(name);
  }

  /** Returns the pin path of an endpoint's policy map. */
  public Path policyMap(int endpointId) {
    return maps.resolve(policyMapName(endpointId));
  }

  /** Returns the name of an endpoint's policy map. */
  private static String policyMapName(int endpointId) {
    return "policy_%05d".formatted(endpointId);
  }

  /** Returns the pin path of an endpoint's link. */
  public Path endpoint(int endpointId, String program) {
    return endpoints.resolve(Integer.toString(endpointId)).resolve(program);
  }

  /**
   * Returns the pin path of a device's link. A dot is written as %2E, since bpffs refuses dots in
   * names.
   */
  public Path device(String interfaceName, String program) {
    return devices.resolve(interfaceName.replace(".", "%2E")).resolve(program);
  }

  /** Returns the paths of all pinned device links. */
  public Set<Path> devicePins() {
    final Set<Path> found = new TreeSet<>();
    for (final Path device : list(devices)) {
      found.addAll(list(device));
    }
    return found;
  }

  /** Returns the ids of all endpoints that have a pinned link or policy map. */
  public Set<Integer> endpointIds() {
    final Set<Integer> ids = new TreeSet<>();
    for (final Path path : list(endpoints)) {
      if (ENDPOINT.matcher(path.getFileName().toString()).matches()) {
        ids.add(Integer.parseInt(path.getFileName().toString()));
      }
    }
    for (final Path path : list(maps)) {
      final Matcher matcher = POLICY_MAP.matcher(path.getFileName().toString());
      if (matcher.matches()) {
        ids.add(Integer.parseInt(matcher.group(1)));
      }
    }
    return ids;
  }

  /** Creates the parent folder of a pin. */
  static void createFolder(Path pin) {
    try {
      Files.createDirectories(pin.getParent());
    } catch (IOException failure) {
      throw new UncheckedIOException("folder of pin " + pin, failure);
    }
  }

  /** Deletes the parent folder of a removed pin where the folder is empty. */
  static void deleteFolderIfEmpty(Path pin) {
    final Path folder = pin.getParent();
    try {
      if (Files.isDirectory(folder) && list(folder).isEmpty()) {
        Files.delete(folder);
      }
    } catch (IOException failure) {
      throw new UncheckedIOException("folder of pin " + pin, failure);
    }
  }

  private static Set<Path> list(Path folder) {
    final Set<Path> found = new TreeSet<>();
    if (Files.isDirectory(folder)) {
      try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder)) {
        entries.forEach(found::add);
      } catch (IOException failure) {
        throw new UncheckedIOException("list " + folder, failure);
      }
    }
    return found;
  }
}
