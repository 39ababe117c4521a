package agent.datapath.programs.compile;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * C sources: a program and all headers that it includes by quoted names. They are those of the jar,
 * or those that an operator keeps in a folder.
 */
final class SourceTree {
  private static final String ROOT = "bpf/src/";

  /** The sources in the jar. */
  static final SourceTree SHIPPED = new SourceTree(path -> resource(ROOT + path));

  private static final Logger LOGGER = LogManager.getLogger(SourceTree.class);
  private static final String FLAGS = "clang.flags";
  private static final Pattern INCLUDE =
      Pattern.compile("^\\s*#\\s*include\\s+\"([^\"]+)\"", Pattern.MULTILINE);

  private final Function<String, byte[]> reader;

  private SourceTree(Function<String, byte[]> reader) {
    this.reader = reader;
  }

  /**
   * Returns the sources in a folder; where the folder does not exist, the shipped sources are
   * written to it first.
   *
   * @throws CompileException where it can be neither read nor written
   */
  static SourceTree in(Path folder) {
    try {
      if (!Files.exists(folder)) {
        final Path next = folder.resolveSibling(folder.getFileName() + ".new");
        SHIPPED.writeAll(next);
        Files.move(next, folder, StandardCopyOption.ATOMIC_MOVE);
        LOGGER.info("the sources of the programs are written to {}", folder);
      }
    } catch (IOException failure) {
      throw new CompileException("sources in " + folder, failure);
    }
    return new SourceTree(path -> file(folder.resolve(path)));
  }

  private static byte[] file(Path path) {
    try {
      return Files.readAllBytes(path);
    } catch (IOException failure) {
      throw new CompileException("source " + path, failure);
    }
  }

  private void writeAll(Path folder) throws IOException {
    for (final ProgramFile program : ProgramFile.values()) {
      writeTo(folder, of(program));
    }
    Files.write(folder.resolve(FLAGS), read(FLAGS));
  }

  /** Returns whether a program includes this file, or it has the flags. */
  boolean hasFile(String path) {
    return path.equals(FLAGS)
        || Arrays.stream(ProgramFile.values()).anyMatch(program -> of(program).containsKey(path));
  }

  /** Returns whether a program has the shipped sources and flags. */
  boolean isShipped(ProgramFile program) {
    return this == SHIPPED
        || flags().equals(SHIPPED.flags()) && isEqual(of(program), SHIPPED.of(program));
  }

  private static boolean isEqual(Map<String, byte[]> one, Map<String, byte[]> other) {
    return one.keySet().equals(other.keySet())
        && one.keySet().stream().allMatch(path -> Arrays.equals(one.get(path), other.get(path)));
  }

  /**
   * Returns the content of each file by its path under the source folder, sorted by path, so that a
   * hash over the map is stable.
   */
  Map<String, byte[]> of(ProgramFile program) {
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
  List<String> flags() {
    final List<String> flags = new ArrayList<>();
    for (final String line : new String(read(FLAGS), StandardCharsets.UTF_8).split("\n")) {
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

  private byte[] read(String path) {
    return reader.apply(path);
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
