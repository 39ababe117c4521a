package agent.launcher;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** The version of this build, its commit and the time of the commit. */
final class Version {
  private static final String NUMBER = lines("version").getFirst();

  /** Two lines: commit and time. */
  private static final List<String> BUILD = lines("build");

  private Version() {}

  /** Returns the number, for example 1.2.3. */
  static String number() {
    return NUMBER;
  }

  /** Returns the commit, or {@code unknown}. */
  static String commit() {
    return BUILD.get(0);
  }

  /** Returns the number with commit and time, in one line. */
  static String text() {
    return "%s (commit %s, %s)".formatted(NUMBER, commit(), BUILD.get(1));
  }

  private static List<String> lines(String name) {
    try (InputStream resource = Version.class.getResourceAsStream(name)) {
      return new String(resource.readAllBytes(), StandardCharsets.US_ASCII).lines().toList();
    } catch (IOException e) {
      throw new UncheckedIOException("resource " + name, e);
    }
  }
}
