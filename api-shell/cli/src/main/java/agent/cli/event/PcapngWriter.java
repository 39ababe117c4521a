package agent.cli.event;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;

/**
 * Writes packets of Ethernet interfaces in the format pcapng (draft-ietf-opsawg-pcapng): one
 * section, an interface description before the first packet of each interface, and an enhanced
 * packet block for each packet. Blocks are kept until {@link #flush()}, which writes whole blocks
 * at once, so that a reader finds no part of one.
 *
 * <pre>
 * block    u32 type; u32 length; body; options; u32 length      all numbers are little-endian
 * option   u16 code; u16 length of its value; value, padded to four bytes
 * </pre>
 */
final class PcapngWriter {
  private static final int SECTION_HEADER = 0x0a0d0d0a;
  private static final int INTERFACE_DESCRIPTION = 1;
  private static final int ENHANCED_PACKET = 6;
  private static final int BYTE_ORDER_MAGIC = 0x1a2b3c4d;
  private static final int ETHERNET = 1;

  private static final int COMMENT = 1;
  private static final int SECTION_APPLICATION = 4;
  private static final int INTERFACE_NAME = 2;
  private static final int INTERFACE_TIME_RESOLUTION = 9;
  private static final int PACKET_VERDICT = 7;

  private static final byte NANOSECONDS = 9;
  private static final byte VERDICT_OF_TC = 1;
  private static final long TC_ACT_SHOT = 2;

  /** Room for a block besides its packet and its text. */
  private static final int OVERHEAD = 128;

  private static final int KEPT_BYTES = 32 * 1024;

  private final OutputStream out;
  private final int snapBytes;
  private final LongFunction<String> names;
  private final Map<Long, Integer> interfaces = new HashMap<>();
  private final ByteArrayOutputStream kept = new ByteArrayOutputStream();
  private ByteBuffer block;

  /**
   * Writes the header of the section.
   *
   * @param application what writes
   * @param snapBytes bytes of a packet that are captured at most
   * @param names returns the name of the interface with an index
   */
  PcapngWriter(OutputStream out, String application, int snapBytes, LongFunction<String> names) {
    this.out = out;
    this.snapBytes = snapBytes;
    this.names = names;
    begin(SECTION_HEADER, 4 * application.length());
    block.putInt(BYTE_ORDER_MAGIC).putShort((short) 1).putShort((short) 0); // version 1.0
    block.putLong(-1); // the length of the section is not known
    option(SECTION_APPLICATION, application);
    endOptions();
    end();
  }

  /**
   * Adds a packet.
   *
   * @param interfaceIndex the interface on which it was seen
   * @param originalLength its length before it was cut to {@code bytes}
   * @param dropped why it was dropped, as a comment; null where it was not
   */
  void packet(
      Instant time, long interfaceIndex, ByteBuffer bytes, long originalLength, String dropped)
      throws IOException {
    Integer number = interfaces.get(interfaceIndex);
    if (number == null) {
      number = interfaces.size();
      interfaces.put(interfaceIndex, number);
      describe(names.apply(interfaceIndex));
    }
    final long ns = TimeUnit.SECONDS.toNanos(time.getEpochSecond()) + time.getNano();
    begin(ENHANCED_PACKET, bytes.remaining() + (dropped == null ? 0 : 4 * dropped.length()));
    block.putInt(number).putInt((int) (ns >>> Integer.SIZE)).putInt((int) ns);
    block.putInt(bytes.remaining()).putInt((int) originalLength);
    block.put(bytes.duplicate());
    pad();
    if (dropped != null) {
      option(COMMENT, dropped);
      option(PACKET_VERDICT, Long.BYTES + 1);
      block.put(VERDICT_OF_TC).putLong(TC_ACT_SHOT);
      pad();
      endOptions();
    }
    end();
    if (kept.size() >= KEPT_BYTES) {
      flush();
    }
  }

  private void describe(String name) {
    begin(INTERFACE_DESCRIPTION, 4 * name.length());
    block.putShort((short) ETHERNET).putShort((short) 0).putInt(snapBytes);
    option(INTERFACE_NAME, name);
    option(INTERFACE_TIME_RESOLUTION, 1);
    block.put(NANOSECONDS);
    pad();
    endOptions();
    end();
  }

  /** Writes the blocks that are kept. */
  void flush() throws IOException {
    kept.writeTo(out);
    kept.reset();
    out.flush();
  }

  private void begin(int type, int more) {
    block = ByteBuffer.allocate(OVERHEAD + more).order(ByteOrder.LITTLE_ENDIAN);
    block.putInt(type).putInt(0);
  }

  private void end() {
    final int length = block.position() + Integer.BYTES;
    block.putInt(length).putInt(Integer.BYTES, length);
    kept.write(block.array(), 0, length);
  }

  private void option(int code, String text) {
    final byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    option(code, bytes.length);
    block.put(bytes);
    pad();
  }

  private void option(int code, int length) {
    block.putShort((short) code).putShort((short) length);
  }

  private void endOptions() {
    option(0, 0);
  }

  private void pad() {
    while (block.position() % Integer.BYTES != 0) {
      block.put((byte) 0);
    }
  }
}
