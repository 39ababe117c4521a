package agent.launcher.process;

import agent.bindings.BpfFileSystem;
import agent.bindings.BpfLink;
import agent.bindings.BpfLink.LinkDescription;
import agent.bindings.Descriptors;
import agent.bindings.MapDescription;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * What an agent has pinned, by pin.
 *
 * @param ids the kernel's numbers of maps and links
 * @param programs the kernel's numbers of the links' programs
 */
record PinnedObjects(Map<Path, Integer> ids, Map<Path, Integer> programs) {
  static PinnedObjects below(Path bpfRoot) throws IOException {
    final PinnedObjects found = new PinnedObjects(new TreeMap<>(), new TreeMap<>());
    for (final Path pin : pins(bpfRoot.resolve("agent/maps"))) {
      final int fd = BpfFileSystem.open(pin);
      found.ids.put(pin, MapDescription.of(fd).id());
      Descriptors.close(fd);
    }
    for (final String folder : List.of("agent/devices", "agent/endpoints", "agent/sockets")) {
      for (final Path pin : pins(bpfRoot.resolve(folder))) {
        try (BpfLink link = BpfLink.openPinned(pin).orElseThrow()) {
          final LinkDescription description = link.info();
          found.ids.put(pin, description.id());
          found.programs.put(pin, description.programId());
        }
      }
    }
    return found;
  }

  private static List<Path> pins(Path folder) throws IOException {
    if (!Files.exists(folder)) {
      return List.of();
    }
    try (Stream<Path> paths = Files.walk(folder)) {
      return paths.filter(path -> !Files.isDirectory(path)).toList();
    }
  }
}
