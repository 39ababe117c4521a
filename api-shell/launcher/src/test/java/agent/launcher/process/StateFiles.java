package agent.launcher.process;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import java.util.zip.CRC32C;

/** State files of an agent that does not run, and the ways in which they go bad. */
final class StateFiles {
  /** Replaces a file, of which these are the bytes, by something that cannot be read. */
  interface Damage {
    void to(Path file, byte[] content) throws IOException;
  }

  private StateFiles() {}

  /** Returns a file with a right header: length and checksum are those of the document. */
  static byte[] whole(int format, String kind, String document) {
    final byte[] bytes = document.getBytes(StandardCharsets.UTF_8);
    final CRC32C crc = new CRC32C();
    crc.update(bytes);
    final String header =
        String.format(
            Locale.ROOT,
            "{\"format\":%d,\"kind\":\"%s\",\"length\":%d,\"crc32c\":\"%08x\"}\n",
            format,
            kind,
            bytes.length,
            crc.getValue());
    return ByteBuffer.allocate(header.length() + bytes.length + 1)
        .put(header.getBytes(StandardCharsets.US_ASCII))
        .put(bytes)
        .put((byte) '\n')
        .array();
  }

  /** Returns what the files of names of an agent that runs have now, one after the other. */
  static String storedNames(TestNode node) throws IOException {
    final StringBuilder all = new StringBuilder();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(node.state().resolve("names"))) {
      for (final Path file : files) {
        try {
          all.append(Files.readString(file));
        } catch (NoSuchFileException replaced) {
          continue; // its content is in another one
        }
      }
    }
    return all.toString();
  }

  /** Returns the document of a file. */
  static String document(byte[] file) {
    final String text = new String(file, StandardCharsets.UTF_8);
    return text.substring(text.indexOf('\n') + 1, text.length() - 1);
  }

  /** The ways by name, for a document of a kind that has a member {@code revision}. */
  static Map<String, Damage> all(String kind) {
    final Map<String, Damage> all = new LinkedHashMap<>();
    all.put("removed", (file, content) -> {});
    all.put("cut", (file, content) -> Files.write(file, Arrays.copyOf(content, 100)));
    all.put("an empty object", (file, content) -> Files.write(file, whole(1, kind, "{}")));
    all.put(
        "a value that is not valid",
        (file, content) ->
            Files.write(
                file, whole(1, kind, document(content).replaceFirst(":\\d+,", ":\"none\","))));
    all.put(
        "a newer format", (file, content) -> Files.write(file, whole(2, kind, document(content))));
    all.put("a directory", (file, content) -> Files.createDirectories(file.resolve("in it")));
    all.put(
        "a symbolic link",
        (file, content) ->
            Files.createSymbolicLink(file, Files.write(file.resolveSibling("elsewhere"), content)));
    return all;
  }

  /** Removes whatever is in a file's place. */
  static void clear(Path file) throws IOException {
    if (Files.isDirectory(file, LinkOption.NOFOLLOW_LINKS)) {
      try (Stream<Path> inside = Files.list(file)) {
        for (final Path one : inside.toList()) {
          Files.delete(one);
        }
      }
    }
    Files.deleteIfExists(file);
  }
}
