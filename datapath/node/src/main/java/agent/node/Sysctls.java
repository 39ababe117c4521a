package agent.node;

import agent.types.OperationException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The sysctls of the calling thread's network namespace, below {@code /proc/sys/net}. */
public final class Sysctls {
  private static final int LONGEST_VALUE = 4096;

  private final Path root;

  /**
   * Creates access to the sysctls below this folder.
   *
   * @param root {@code /proc/sys/net}, or another folder in a test
   */
  Sysctls(Path root) {
    this.root = root;
  }

  /** Returns the sysctls of the kernel. */
  public static Sysctls ofKernel() {
    return new Sysctls(Path.of("/proc/sys/net"));
  }

  /**
   * Sets a value, unless the sysctl has it.
   *
   * @param value the value
   * @param path the parts of the name below {@code net}; the name of an interface is one part, even
   *     with dots
   * @return the name of the sysctl and its value before, where it had another one
   * @throws OperationException naming the sysctl
   */
  Optional<String> restore(String value, String... path) {
    final Path file = file(path);
    try {
      final String before = read(file);
      if (before.equals(value)) {
        return Optional.empty();
      }
      Files.write(file, value.getBytes(StandardCharsets.US_ASCII));
      return Optional.of(name(path) + " was " + before + " and was set to " + value);
    } catch (IOException failure) {
      throw failed(path, "cannot be set to " + value, failure);
    }
  }

  /**
   * Reads a value.
   *
   * @param path the parts of the name below {@code net}
   * @return the value
   * @throws OperationException naming the sysctl
   */
  public String get(String... path) {
    try {
      return read(file(path));
    } catch (IOException failure) {
      throw failed(path, "cannot be read", failure);
    }
  }

  /**
   * Lists the names below a folder of sysctls.
   *
   * @param path the parts of the folder's name
   * @return the names
   */
  public List<String> list(String... path) {
    try (var names = Files.list(file(path))) {
      return names.map(name -> name.getFileName().toString()).sorted().toList();
    } catch (IOException failure) {
      throw failed(path, "cannot be listed", failure);
    }
  }

  private Path file(String... path) {
    return root.resolve(Path.of("", path));
  }

  /**
   * Reads a value by one call: the kernel gives the second one nothing, however short the first.
   */
  private static String read(Path file) throws IOException {
    try (InputStream in = Files.newInputStream(file)) {
      return new String(in.readNBytes(LONGEST_VALUE), StandardCharsets.US_ASCII).trim();
    }
  }

  private static OperationException failed(String[] path, String what, IOException failure) {
    return new OperationException(name(path) + " " + what + ": " + failure.getMessage(), failure);
  }

  private static String name(String... path) {
    return "net." + String.join(".", path);
  }
}
