package agent.state;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32C;

/**
 * The format of a state file: one header line with the length and checksum of the document, then
 * the JSON document.
 *
 * <pre>
 *   {"format":1,"kind":"endpoint","length":1234,"crc32c":"0a1b2c3d"}
 *   {"id":12, ... }
 * </pre>
 */
final class StateFile {
  private static final int FORMAT = 1;

  /**
   * The longest document in bytes; a deny list of two families with a million prefixes each has 70
   * MB.
   */
  static final int MOST_BYTES = 128 << 20;

  static final int LONGEST_HEADER_BYTES = 256;
  private static final Pattern HEADER =
      Pattern.compile(
          "\\{\"format\":(\\d{1,9}),\"kind\":\"([a-z-]{1,64})\","
              + "\"length\":(\\d{1,10}),\"crc32c\":\"([0-9a-f]{8})\"}");

  /** The start of the header of every format, whatever members a newer one has. */
  private static final Pattern ANY_FORMAT = Pattern.compile("\\{\"format\":(\\d{1,9})[,}].*");

  private StateFile() {}

  /**
   * Encodes a file: the header line, the document, a line feed.
   *
   * @param kind the kind of the document
   * @param parts the document, each part from its position to its limit; not changed
   * @return the buffers in the order of writing
   */
  static ByteBuffer[] encode(String kind, List<ByteBuffer> parts) {
    final CRC32C crc = new CRC32C();
    long length = 0;
    for (final ByteBuffer part : parts) {
      length += part.remaining();
      crc.update(part.duplicate());
    }
    final String header =
        "{\"format\":"
            + FORMAT
            + ",\"kind\":\""
            + kind
            + "\",\"length\":"
            + length
            + ",\"crc32c\":\""
            + HexFormat.of().toHexDigits((int) crc.getValue())
            + "\"}\n";
    final List<ByteBuffer> all = new ArrayList<>(parts.size() + 2);
    all.add(ByteBuffer.wrap(header.getBytes(StandardCharsets.US_ASCII)));
    parts.forEach(part -> all.add(part.duplicate()));
    all.add(ByteBuffer.wrap(new byte[] {'\n'}));
    return all.toArray(ByteBuffer[]::new);
  }

  /**
   * Checks a file and returns its document.
   *
   * @param kind the expected kind
   * @param file all bytes of the file
   * @return the document, a view of the bytes
   * @throws DamagedStateException with the reason, where the file is damaged
   */
  static ByteBuffer decode(String kind, byte[] file) throws DamagedStateException {
    int end = 0;
    while (end < file.length && end <= LONGEST_HEADER_BYTES && file[end] != '\n') {
      end++;
    }
    if (end == file.length || end > LONGEST_HEADER_BYTES) {
      throw new DamagedStateException("no header line in " + file.length + " bytes");
    }
    final String line = new String(file, 0, end, StandardCharsets.ISO_8859_1);
    final Matcher any = ANY_FORMAT.matcher(line);
    if (any.matches() && Integer.parseInt(any.group(1)) > FORMAT) {
      throw DamagedStateException.newer(
          "format " + any.group(1) + " of a newer release, and this one reads format " + FORMAT);
    }
    final Matcher header = HEADER.matcher(line);
    if (!header.matches()) {
      throw new DamagedStateException("the first line is not a header");
    }
    if (Integer.parseInt(header.group(1)) != FORMAT) {
      throw new DamagedStateException("format " + header.group(1) + " does not exist");
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
    final ByteBuffer document = ByteBuffer.wrap(file, start, (int) length);
    final int seen = checksum(document);
    final int written = Integer.parseUnsignedInt(header.group(4), 16);
    if (seen != written) {
      throw new DamagedStateException(
          String.format(Locale.ROOT, "checksum %08x, not %08x", seen, written));
    }
    return document;
  }

  /**
   * Returns the length in bytes of a file that follows others in one.
   *
   * @return where its header says; -1 where there is none
   */
  static long lengthAt(byte[] bytes, int offset) {
    final int most = Math.min(bytes.length, offset + LONGEST_HEADER_BYTES);
    int end = offset;
    while (end < most && bytes[end] != '\n') {
      end++;
    }
    final String line = new String(bytes, offset, end - offset, StandardCharsets.ISO_8859_1);
    final Matcher header = HEADER.matcher(line);
    return header.matches() ? line.length() + 1 + Long.parseLong(header.group(3)) + 1 : -1;
  }

  private static int checksum(ByteBuffer document) {
    final CRC32C crc = new CRC32C();
    crc.update(document.duplicate());
    return (int) crc.getValue();
  }
}
