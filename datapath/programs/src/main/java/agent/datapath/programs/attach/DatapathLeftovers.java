package agent.datapath.programs.attach;

import agent.bindings.BindingsException;
import agent.bindings.Errno;
import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.BpfLink;
import agent.types.Leftover;
import agent.types.OperationException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * What agents left in the kernel: pinned links, clsact filters and pinned maps. Another program's
 * filter, and a file below the BPF root that is in none of the agent's folders, is not in it. The
 * clsact qdisc stays, since other programs may use it.
 */
public final class DatapathLeftovers {
  /** Programs of this release and those before it that were attached to tc hooks. */
  private static final List<String> TC_PROGRAMS =
      List.of(
          Pins.FROM_ENDPOINT,
          Pins.TO_ENDPOINT,
          DeviceAttachments.FROM_NETWORK,
          DeviceAttachments.TO_NETWORK);

  private static final List<String> FOLDERS =
      List.of("endpoints", "devices", "sockets", "proxies", "maps", "removals");

  private DatapathLeftovers() {}

  /**
   * Finds them, in the order in which they are to be removed.
   *
   * @param bpfRoot {@code --bpf-root}
   * @param interfaces names of the interfaces of the network namespace by index
   * @throws OperationException where the pins cannot be listed
   */
  public static List<Leftover> find(Path bpfRoot, Map<Integer, String> interfaces) {
    final Path folder = Pins.folderOf(bpfRoot);
    final List<Leftover> found = new ArrayList<>();
    for (final Path pin : below(folder, "endpoints", "devices", "sockets", "proxies")) {
      found.add(new Leftover(linkText(pin, interfaces), () -> detach(pin)));
    }
    interfaces.forEach((index, name) -> addFilters(index, name, found));
    for (final Path pin : below(folder, "maps")) {
      found.add(new Leftover("map " + pin, () -> unpin(pin)));
    }
    for (final Path known : folders(folder)) {
      found.add(Leftover.of(known));
    }
    return found;
  }

  private static String linkText(Path pin, Map<Integer, String> interfaces) {
    final Optional<BpfLink> pinned;
    try {
      pinned = BpfLink.openPinned(pin);
    } catch (BindingsException otherObject) {
      return "pin " + pin;
    }
    if (pinned.isEmpty()) {
      return "pin " + pin;
    }
    try (BpfLink link = pinned.get()) {
      if (link.info().type() == BpfLink.LinkDescription.TYPE_CGROUP) {
        return "program of " + pin + " at sockets";
      }
      final int index = link.info().ifindex();
      return "program of " + pin + " on " + interfaces.getOrDefault(index, "interface " + index);
    }
  }

  /** A file in the agent's folder that is not a link is unpinned only. */
  private static void detach(Path pin) {
    try {
      PinnedLinkAttachment.detachPinned(pin);
    } catch (BindingsException failure) {
      unpin(pin);
    }
  }

  private static void unpin(Path pin) {
    final int result = BpfFileSystem.unpin(pin);
    if (result < 0 && result != -Errno.ENOENT) {
      throw new OperationException(pin + ": unpin: " + Errno.name(-result));
    }
  }

  private static void addFilters(int index, String name, List<Leftover> found) {
    for (final String program : TC_PROGRAMS) {
      for (final boolean isIngress : new boolean[] {true, false}) {
        final TcHook hook = new TcHook(name, index, isIngress, program, null);
        final ClsactAttachment filter = new ClsactAttachment(hook);
        if (filter.isAttached()) {
          found.add(new Leftover("filter " + hook, filter::detach));
        }
      }
    }
  }

  private static List<Path> below(Path folder, String... names) {
    return Stream.of(names)
        .flatMap(name -> Leftover.paths(folder.resolve(name)).stream())
        .filter(path -> !isFolder(path))
        .toList();
  }

  /** Returns the agent's folders, the innermost first. */
  private static List<Path> folders(Path folder) {
    final List<Path> folders = new ArrayList<>();
    for (final String name : FOLDERS) {
      Leftover.paths(folder.resolve(name)).stream()
          .filter(DatapathLeftovers::isFolder)
          .forEach(folders::add);
    }
    if (isFolder(folder)) {
      folders.add(folder);
    }
    return folders;
  }

  private static boolean isFolder(Path path) {
    return Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS);
  }
}
