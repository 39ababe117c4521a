package agent.node;

import agent.types.Refusal;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Kernel settings of the calling thread's network namespace, below {@code /proc/sys/net}. */
public final class Sysctls {
  private final Path root;

  /**
   * Settings below this folder.
   *
   * @param root {@code /proc/sys/net}, but for tests
   */
  public Sysctls(Path root) {
    this.root = root;
  }

  /** Those of the kernel. */
  public static Sysctls ofKernel() {
    return new Sysctls(Path.of("/proc/sys/net"));
  }

  /**
   * Sets a value where it is not that already.
   *
   * @param value the value
   * @param path the parts of the name below {@code net}; an interface's name is one part, whatever
   *     dots are in it
   * @throws Refusal FAILED with the name of the setting
   */
  public void set(String value, String... path) {
    final Path file = file(path);
    try {
      if (!read(file).equals(value)) {
        Files.write(file, value.getBytes(StandardCharsets.US_ASCII));
      }
    } catch (IOException failure) {
      throw failed(path, "cannot be set to " + value, failure);
    }
  }

  /**
   * Reads a value.
   *
   * @param path the parts of the name below {@code net}
   * @return the value
   * @throws Refusal FAILED with the name of the setting
   */
  public String get(String... path) {
    try {
      return read(file(path));
    } catch (IOException failure) {
      throw failed(path, "cannot be read", failure);
    }
  }

  /**
   * The names below a folder of settings.
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

  private static String read(Path file) throws IOException {
    return new String(Files.readAllBytes(file), StandardCharsets.US_ASCII).trim();
  }

  private static Refusal failed(String[] path, String what, IOException failure) {
    return Refusal.of(
        Refusal.Kind.FAILED,
        "",
        "net." + String.join(".", path) + " " + what + ": " + failure.getMessage(),
        failure);
  }
}
