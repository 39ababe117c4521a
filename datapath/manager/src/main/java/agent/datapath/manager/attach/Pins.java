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

/** Where everything is pinned, under {@code <bpf-root>/agent}. */
public final class Pins {
  /** Name of the pin of traffic from the workload. */
  public static final String FROM_ENDPOINT = "from_endpoint";

  /** Name of the pin of traffic to the workload. */
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
   * Mounts a BPF file system at the root where there is none, and makes the folders.
   *
   * @throws BindingsException where it cannot be mounted
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

  /** The pin of a node map. */
  public Path map(String name) {
    return maps.resolve(name);
  }

  /** The pin of an endpoint's policy map. */
  public Path policyMap(int endpointId) {
    return maps.resolve(policyMapName(endpointId));
  }

  /** The name under which an endpoint's policy map is known. */
  public static String policyMapName(int endpointId) {
    return "policy_%05d".formatted(endpointId);
  }

  /** The pin of an endpoint's link. */
  public Path endpoint(int endpointId, String program) {
    return endpoints.resolve(Integer.toString(endpointId)).resolve(program);
  }

  /** The pin of a device's link; dots, which the file system refuses, are written as %2E. */
  public Path device(String interfaceName, String program) {
    return devices.resolve(interfaceName.replace(".", "%2E")).resolve(program);
  }

  /** All pins of device links. */
  public Set<Path> devicePins() {
    final Set<Path> found = new TreeSet<>();
    for (final Path device : list(devices)) {
      found.addAll(list(device));
    }
    return found;
  }

  /** Endpoints that have a pinned link or policy map. */
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

  /**
   * Pins an object, making the folder.
   *
   * @return 0 or -errno
   */
  static int pin(int fd, Path path) {
    try {
      Files.createDirectories(path.getParent());
    } catch (IOException failure) {
      throw new UncheckedIOException("pin " + path, failure);
    }
    return BpfFileSystem.pin(fd, path);
  }

  /** Removes a pin, where it is there, and its folder, where that is empty then. */
  static void unpin(Path path) {
    try {
      Files.deleteIfExists(path);
      final Path folder = path.getParent();
      if (Files.isDirectory(folder) && list(folder).isEmpty()) {
        Files.delete(folder);
      }
    } catch (IOException failure) {
      throw new UncheckedIOException("unpin " + path, failure);
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
