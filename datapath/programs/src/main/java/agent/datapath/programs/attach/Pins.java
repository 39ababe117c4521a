package agent.datapath.programs.attach;

import agent.bindings.BindingsException;
import agent.bindings.Errno;
import agent.bindings.bpf.BpfFileSystem;
import agent.datapath.spec.MountPoint;
import agent.types.IoFailure;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The paths of all pins, under {@code <bpf-root>/agent}. */
public final class Pins {
  /** Name of the program, and of the pin of its link, for packets that the workload sends. */
  public static final String FROM_ENDPOINT = "from_endpoint";

  /** Name of the program, and of the pin of its link, for packets to the workload. */
  public static final String TO_ENDPOINT = "to_endpoint";

  /** End of the name of a pin that is about to replace another; bpffs refuses dots. */
  private static final String NEW = "_new";

  private static final Pattern POLICY_MAP = Pattern.compile("policy_(\\d{5})");
  private static final Pattern ENDPOINT = Pattern.compile("[1-9]\\d{0,4}");

  private static final Set<PosixFilePermission> OWNER_ONLY =
      PosixFilePermissions.fromString("rwx------");

  private final Path maps;
  private final Path endpoints;
  private final Path devices;
  private final Path removals;
  private final Path sockets;
  private final Path proxies;

  private Pins(Path root) {
    maps = root.resolve("maps");
    endpoints = root.resolve("endpoints");
    devices = root.resolve("devices");
    removals = root.resolve("removals");
    sockets = root.resolve("sockets");
    proxies = root.resolve("proxies");
  }

  /**
   * Mounts a BPF file system at the root where none is mounted, and creates the folders.
   *
   * @throws BindingsException where the file system cannot be mounted
   */
  public static Pins prepare(Path bpfRoot) {
    final Pins pins = new Pins(folder(bpfRoot));
    try {
      for (final Path folder :
          List.of(
              pins.maps, pins.endpoints, pins.devices, pins.removals, pins.sockets, pins.proxies)) {
        create(folder);
        for (final Path inside : list(folder)) {
          if (Files.isDirectory(inside, LinkOption.NOFOLLOW_LINKS)) {
            Files.setPosixFilePermissions(inside, OWNER_ONLY);
          }
        }
      }
      pins.removeNew();
    } catch (IOException failure) {
      throw unusable(bpfRoot, failure);
    }
    return pins;
  }

  /** Returns the folder of all pins, which need not exist. */
  public static Path folderOf(Path bpfRoot) {
    return bpfRoot.resolve("agent");
  }

  /** Returns whether a run has left maps; creates and changes nothing. */
  public static boolean hasMaps(Path bpfRoot) {
    try (DirectoryStream<Path> maps = Files.newDirectoryStream(folderOf(bpfRoot).resolve("maps"))) {
      return maps.iterator().hasNext();
    } catch (IOException none) {
      return false;
    }
  }

  /**
   * Mounts a BPF file system at the root where none is mounted, and creates the folder of all pins
   * in it.
   *
   * @return {@code <bpf-root>/agent}
   * @throws BindingsException where the file system cannot be mounted
   */
  public static Path folder(Path bpfRoot) {
    final Path folder = folderOf(bpfRoot);
    try {
      MountPoint.BPF.mount("bpf-root", bpfRoot);
      create(folder);
    } catch (IOException failure) {
      throw unusable(bpfRoot, failure);
    }
    return folder;
  }

  /**
   * Creates a folder that only its owner may enter; a folder that an earlier agent has created
   * without a mode of its own gets this mode, too.
   */
  private static void create(Path folder) throws IOException {
    Files.createDirectories(folder, PosixFilePermissions.asFileAttribute(OWNER_ONLY));
    Files.setPosixFilePermissions(folder, OWNER_ONLY);
  }

  private static UncheckedIOException unusable(Path bpfRoot, IOException failure) {
    return new UncheckedIOException(
        "bpf-root " + bpfRoot + ": " + IoFailure.reason(failure), failure);
  }

  /** Removes pins that a previous run created and did not put into place. */
  private void removeNew() throws IOException {
    try (Stream<Path> paths = Files.walk(maps.getParent())) {
      for (final Path path : paths.toList()) {
        if (path.getFileName().toString().endsWith(NEW) && !Files.isDirectory(path)) {
          BpfFileSystem.unpin(path);
        }
      }
    }
  }

  /**
   * Pins a link or map, atomically in place of what is pinned at the path.
   *
   * @throws BindingsException where the kernel refuses
   */
  public static void put(int fd, Path pin) {
    createFolder(pin);
    final int result = BpfFileSystem.pin(fd, pin);
    if (result != -Errno.EEXIST) {
      check(result, pin);
      return;
    }
    final Path next = pin.resolveSibling(pin.getFileName() + NEW);
    BpfFileSystem.unpin(next);
    check(BpfFileSystem.pin(fd, next), next);
    try {
      Files.move(next, pin, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException failure) {
      BpfFileSystem.unpin(next);
      throw new UncheckedIOException("pin at " + pin, failure);
    }
  }

  private static void check(int result, Path pin) {
    if (result < 0) {
      throw new BindingsException("pin at " + pin, result);
    }
  }

  /** Returns the pin path of a node map. */
  public Path map(String name) {
    return maps.resolve(name);
  }

  /** Returns the pin path of a policy map. */
  public Path policyMap(int number) {
    return maps.resolve("policy_%05d".formatted(number));
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

  /** Returns the pin path of the link of a program at sockets. */
  public Path socket(String program) {
    return sockets.resolve(program);
  }

  /**
   * Returns the pin path of a program for the sockets of proxies, which the kernel has no link of.
   */
  public Path proxy(String program) {
    return proxies.resolve(program);
  }

  /** Returns the paths of all pinned links of programs at sockets. */
  public Set<Path> socketPins() {
    return list(sockets);
  }

  /** Returns the paths of all pinned device links. */
  public Set<Path> devicePins() {
    final Set<Path> found = new TreeSet<>();
    for (final Path device : list(devices)) {
      found.addAll(list(device));
    }
    return found;
  }

  /** Returns the ids of all endpoints that have a pinned link. */
  public Set<Integer> endpointIds() {
    return ids(endpoints);
  }

  /** Returns the numbers of all pinned policy maps. */
  public Set<Integer> policyNumbers() {
    final Set<Integer> ids = new TreeSet<>();
    for (final Path path : list(maps)) {
      final Matcher matcher = POLICY_MAP.matcher(path.getFileName().toString());
      if (matcher.matches()) {
        ids.add(Integer.parseInt(matcher.group(1)));
      }
    }
    return ids;
  }

  /**
   * Remembers the removal of an endpoint: an empty folder, which needs neither a BPF object nor a
   * file descriptor.
   */
  public void rememberRemoval(int endpointId) {
    final Path folder = removals.resolve(Integer.toString(endpointId));
    try {
      Files.createDirectories(folder);
    } catch (IOException failure) {
      throw new UncheckedIOException("folder " + folder + ": " + failure, failure);
    }
  }

  /** Ends {@link #rememberRemoval}. */
  public void forgetRemoval(int endpointId) {
    final Path folder = removals.resolve(Integer.toString(endpointId));
    try {
      Files.deleteIfExists(folder);
    } catch (IOException failure) {
      throw new UncheckedIOException("folder " + folder + ": " + failure, failure);
    }
  }

  /** Returns the ids of the endpoints whose removal is remembered. */
  public Set<Integer> rememberedRemovals() {
    return ids(removals);
  }

  private static Set<Integer> ids(Path folder) {
    final Set<Integer> ids = new TreeSet<>();
    for (final Path path : list(folder)) {
      if (ENDPOINT.matcher(path.getFileName().toString()).matches()) {
        ids.add(Integer.parseInt(path.getFileName().toString()));
      }
    }
    return ids;
  }

  /** Creates the parent folder of a pin. */
  static void createFolder(Path pin) {
    try {
      create(pin.getParent());
    } catch (IOException failure) {
      throw new UncheckedIOException("folder of pin " + pin, failure);
    }
  }

  /** Deletes the parent folder of a removed pin where the folder is empty; needs no descriptor. */
  static void deleteFolderIfEmpty(Path pin) {
    final Path folder = pin.getParent();
    try {
      Files.deleteIfExists(folder);
    } catch (DirectoryNotEmptyException kept) {
      return; // another pin is in it
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
