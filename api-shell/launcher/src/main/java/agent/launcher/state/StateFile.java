package agent.launcher.state;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32C;

/**
 * The form of a state file: one line that vouches for the rest, then the JSON document.
 *
 * <pre>
 *   {"format":1,"kind":"endpoint","length":1234,"crc32c":"0a1b2c3d"}
 *   {"id":12, ... }
 * </pre>
 */
final class StateFile {
  static final int FORMAT = 1;
  private static final int LONGEST_HEADER_BYTES = 256;
  private static final Pattern HEADER =
      Pattern.compile(
          "\\{\"format\":(\\d{1,9}),\"kind\":\"([a-z-]{1,64})\","
              + "\"length\":(\\d{1,10}),\"crc32c\":\"([0-9a-f]{8})\"}");

  private StateFile() {}

  static byte[] encode(String kind, byte[] document) {
    final String header =
        String.format(
            Locale.ROOT,
            "{\"format\":%d,\"kind\":\"%s\",\"length\":%d,\"crc32c\":\"%08x\"}%n",
            FORMAT,
            kind,
            document.length,
            checksum(document, 0, document.length));
    final byte[] head = header.getBytes(StandardCharsets.US_ASCII);
    final byte[] file = new byte[head.length + document.length + 1];
    System.arraycopy(head, 0, file, 0, head.length);
    System.arraycopy(document, 0, file, head.length, document.length);
    file[file.length - 1] = '\n';
    return file;
  }

  /**
   * Returns the document.
   *
   * @throws DamagedStateException with the reason, where the file is not what was written
   */
  static byte[] decode(String kind, byte[] file) throws DamagedStateException {
    int end = 0;
    while (end < file.length && file[end] != '\n') {
      end++;
    }
    if (end == file.length || end > LONGEST_HEADER_BYTES) {
      throw new DamagedStateException("no header line in " + file.length + " bytes");
    }
    final Matcher header = HEADER.matcher(new String(file, 0, end, StandardCharsets.ISO_8859_1));
    if (!header.matches()) {
      throw new DamagedStateException("the first line is no header");
    }
    final int format = Integer.parseInt(header.group(1));
    if (format != FORMAT) {
      throw new DamagedStateException("format " + format + ", and this agent reads " + FORMAT);
    }
    if (!header.group(2).equals(kind)) {
      throw new DamagedStateException("holds '" + header.group(2) + "', not '" + kind + "'");
    }
    final long length = Long.parseLong(header.group(3));
    final int start = end + 1;
    if (file.length - start != length + 1) {
      throw new DamagedStateException(
          "truncated or extended: " + (file.length - start) + " bytes, not " + (length + 1));
    }
    final int seen = checksum(file, start, (int) length);
    final int written = Integer.parseUnsignedInt(header.group(4), 16);
    if (seen != written) {
      throw new DamagedStateException(
          String.format(Locale.ROOT, "checksum %08x, not %08x", seen, written));
    }
    final byte[] document = new byte[(int) length];
    System.arraycopy(file, start, document, 0, document.length);
    return document;
  }

  private static int checksum(byte[] bytes, int offset, int length) {
    final CRC32C crc = new CRC32C();
    crc.update(bytes, offset, length);
    return (int) crc.getValue();
  }
}
