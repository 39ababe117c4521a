package agent.fuzz;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Conversions between bytes and what parsers read. */
public final class FuzzInputs {
  private FuzzInputs() {}

  /** Returns texts as inputs. */
  public static List<byte[]> texts(String... texts) {
    return Stream.of(texts).map(text -> text.getBytes(StandardCharsets.UTF_8)).toList();
  }

  /** Returns the input as text; bytes that are not UTF-8 are replaced. */
  public static String text(byte[] input) {
    return new String(input, StandardCharsets.UTF_8);
  }

  /** Returns the lines of an input, the empty ones included. */
  public static List<String> lines(byte[] input) {
    return List.of(text(input).split("\n", -1));
  }

  /** Fails where a value has changed its meaning. */
  public static void assertSame(Object accepted, Object readAgain, String written) {
    if (!accepted.equals(readAgain)) {
      throw new AssertionError(
          accepted + " is written as '" + written + "' and then read as " + readAgain);
    }
  }

  /** Returns a path in a new temporary folder, which goes when this process ends. */
  public static Path temporary(String name) throws IOException {
    final Path folder = Files.createTempDirectory("fuzz");
    final Path file = folder.resolve(name);
    folder.toFile().deleteOnExit();
    file.toFile().deleteOnExit();
    return file;
  }
}
