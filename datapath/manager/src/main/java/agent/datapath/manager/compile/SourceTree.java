package agent.datapath.manager.compile;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The C sources in the jar: a program and all headers that it includes by quoted names. */
final class SourceTree {
  private static final String ROOT = "bpf/src/";
  private static final Pattern INCLUDE =
      Pattern.compile("^\\s*#\\s*include\\s+\"([^\"]+)\"", Pattern.MULTILINE);

  private SourceTree() {}

  /**
   * Returns the content of each file by its path under the source folder, sorted by path, so that a
   * hash over the map is stable.
   */
  static Map<String, byte[]> of(ProgramFile program) {
    final Map<String, byte[]> files = new TreeMap<>();
    final Deque<String> open = new ArrayDeque<>();
    open.add(program.source());
    while (!open.isEmpty()) {
      final String path = open.remove();
      if (!files.containsKey(path)) {
        final byte[] content = read(path);
        files.put(path, content);
        final Matcher matcher = INCLUDE.matcher(new String(content, StandardCharsets.UTF_8));
        while (matcher.find()) {
          open.add("include/" + matcher.group(1));
        }
      }
    }
    return files;
  }

  /** Returns the compiler flags of {@code clang.flags}, which has one flag per line. */
  static List<String> flags() {
    final List<String> flags = new ArrayList<>();
    for (final String line : new String(read("clang.flags"), StandardCharsets.UTF_8).split("\n")) {
      if (!line.isBlank() && !line.startsWith("#")) {
        flags.add(line.strip());
      }
    }
    return flags;
  }

  static void writeTo(Path folder, Map<String, byte[]> files) throws IOException {
    for (final Map.Entry<String, byte[]> file : files.entrySet()) {
      final Path path = folder.resolve(file.getKey());
      Files.createDirectories(path.getParent());
      Files.write(path, file.getValue());
    }
  }

  private static byte[] read(String path) {
    return resource(ROOT + path);
  }

  static byte[] resource(String name) {
    try (InputStream in = SourceTree.class.getClassLoader().getResourceAsStream(name)) {
      if (in == null) {
        throw new CompileException("resource " + name + " is not in the jar");
      }
      return in.readAllBytes();
    } catch (IOException failure) {
      throw new UncheckedIOException("resource " + name, failure);
    }
  }
}
