package agent.launcher;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** The version of this build. */
final class Version {
  static final String TEXT = read();

  private Version() {}

  private static String read() {
    try (InputStream resource = Version.class.getResourceAsStream("version")) {
      return new String(resource.readAllBytes(), StandardCharsets.US_ASCII).strip();
    } catch (IOException e) {
      throw new UncheckedIOException("resource version", e);
    }
  }
}
