package agent.launcher.process;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.MapCalls;
import agent.bindings.bpf.MapDescription;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The BPF objects to which a process has descriptors. */
final class OpenObjects {
  static final String LINKS = "links";
  private static final Pattern LINK = Pattern.compile("(?m)^link_id:\\s*(\\d+)");
  private static final Pattern PROGRAM = Pattern.compile("(?m)^prog_id:\\s*(\\d+)");
  private static final Pattern MAP = Pattern.compile("(?m)^map_id:\\s*(\\d+)");

  private OpenObjects() {}

  /** Returns the kernel's numbers of the objects by kind and name; links have no names. */
  static Map<String, Set<Integer>> of(long pid) {
    final Map<String, Set<Integer>> found = new TreeMap<>();
    try (Stream<Path> descriptors = Files.list(Path.of("/proc/" + pid + "/fdinfo"))) {
      for (final Path descriptor : descriptors.toList()) {
        add(found, read(descriptor));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return found;
  }

  private static String read(Path descriptor) throws IOException {
    try {
      return Files.readString(descriptor);
    } catch (NoSuchFileException closed) {
      return "";
    }
  }

  private static void add(Map<String, Set<Integer>> found, String descriptor) {
    for (final Pattern kind : List.of(LINK, PROGRAM, MAP)) {
      final Matcher id = kind.matcher(descriptor);
      if (id.find()) {
        final int number = Integer.parseInt(id.group(1));
        found.computeIfAbsent(name(kind, number), name -> new TreeSet<>()).add(number);
        return;
      }
    }
  }

  private static String name(Pattern kind, int id) {
    if (kind == LINK) {
      return LINKS;
    }
    if (kind == PROGRAM) {
      try (BpfProgram program = BpfProgram.openById(id)) {
        return "program " + program.name();
      } catch (BindingsException freed) {
        return "freed program " + id;
      }
    }
    final int fd = MapCalls.openById(id);
    if (fd < 0) {
      return "freed map " + id;
    }
    try {
      return "map " + MapDescription.of(fd).name();
    } finally {
      Descriptors.close(fd);
    }
  }
}
