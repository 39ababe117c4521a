package agent.launcher.process;

import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfLink.LinkDescription;
import agent.bindings.bpf.MapDescription;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * What an agent has pinned, by pin, without the pins that go while they are read.
 *
 * @param ids the kernel's numbers of maps and links
 * @param programs the kernel's numbers of the links' programs
 */
record PinnedObjects(Map<Path, Integer> ids, Map<Path, Integer> programs) {
  static PinnedObjects below(Path bpfRoot) throws IOException {
    final PinnedObjects found = new PinnedObjects(new TreeMap<>(), new TreeMap<>());
    for (final Path pin : pins(bpfRoot.resolve("agent/maps"))) {
      final int fd = BpfFileSystem.open(pin);
      if (fd != -Errno.ENOENT) {
        found.ids.put(pin, MapDescription.of(fd).id());
        Descriptors.close(fd);
      }
    }
    for (final String folder : List.of("agent/devices", "agent/endpoints", "agent/sockets")) {
      for (final Path pin : pins(bpfRoot.resolve(folder))) {
        final Optional<BpfLink> opened = BpfLink.openPinned(pin);
        if (opened.isPresent()) {
          try (BpfLink link = opened.get()) {
            final LinkDescription description = link.info();
            found.ids.put(pin, description.id());
            found.programs.put(pin, description.programId());
          }
        }
      }
    }
    return found;
  }

  /** Returns the pins below a folder, none where there is no folder. */
  static List<Path> pins(Path folder) throws IOException {
    while (Files.exists(folder)) {
      try (Stream<Path> paths = Files.walk(folder)) {
        return paths.filter(path -> !Files.isDirectory(path)).toList();
      } catch (UncheckedIOException e) {
        if (!(e.getCause() instanceof NoSuchFileException)) {
          throw e; // otherwise a folder has gone on the way
        }
      }
    }
    return List.of();
  }
}
