package agent.cli.event;

import java.nio.ByteBuffer;
import java.util.HexFormat;

/** Bytes of packets as text. */
final class HexText {
  private static final int BYTES_PER_LINE = 16;
  private static final int HEX_COLUMNS = BYTES_PER_LINE * 5 / 2;

  private HexText() {}

  /** Returns two digits a byte. */
  static String of(ByteBuffer bytes) {
    return HexFormat.of().formatHex(array(bytes));
  }

  /** Returns lines as tcpdump -XX writes them, each after a line end; nothing for no bytes. */
  static String dump(ByteBuffer bytes) {
    final byte[] all = array(bytes);
    final StringBuilder text = new StringBuilder();
    for (int start = 0; start < all.length; start += BYTES_PER_LINE) {
      final int end = Math.min(all.length, start + BYTES_PER_LINE);
      text.append("\n\t0x%04x:  ".formatted(start));
      final int hex = text.length();
      for (int i = start; i < end; i++) {
        text.append("%02x".formatted(all[i])).append((i - start) % 2 == 1 ? " " : "");
      }
      text.repeat(' ', HEX_COLUMNS + hex - text.length() + 1);
      for (int i = start; i < end; i++) {
        text.append(all[i] >= ' ' && all[i] <= '~' ? (char) all[i] : '.');
      }
    }
    return text.toString();
  }

  private static byte[] array(ByteBuffer bytes) {
    final byte[] all = new byte[bytes.remaining()];
    bytes.get(bytes.position(), all);
    return all;
  }
}
