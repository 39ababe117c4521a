package agent.domain.proxy;

import agent.datapath.spec.RedirectedFlow;
import agent.types.IpAddress;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** The parts that bodies of frames are made of. Readers check ranges and bounds. */
final class Wire {
  /** The most bytes of a text: the head of a request has fewer. */
  private static final int LONGEST_TEXT = 128 * 1024;

  private static final int MOST_ELEMENTS = 8_192;
  private static final int IPV4_BYTES = 4;
  private static final int IPV6_BYTES = 16;

  private Wire() {}

  /** Reads an element of a list. */
  @FunctionalInterface
  interface Reader<T> {
    T read(DataInput in) throws IOException;
  }

  /** Writes an element of a list. */
  @FunctionalInterface
  interface Writer<T> {
    void write(DataOutput out, T value) throws IOException;
  }

  static <T> void writeAll(DataOutput out, Collection<T> values, Writer<T> writer)
      throws IOException {
    out.writeInt(values.size());
    for (final T value : values) {
      writer.write(out, value);
    }
  }

  static <T> List<T> readAll(DataInput in, Reader<T> reader) throws IOException {
    return readAll(in, MOST_ELEMENTS, reader);
  }

  static <T> List<T> readAll(DataInput in, int most, Reader<T> reader) throws IOException {
    final int size = in.readInt();
    if (size < 0 || size > most) {
      throw new IOException("a list of " + size);
    }
    final List<T> values = new ArrayList<>(Math.min(size, 64));
    for (int i = 0; i < size; i++) {
      values.add(reader.read(in));
    }
    return values;
  }

  static void writeText(DataOutput out, String text) throws IOException {
    final byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    out.writeInt(bytes.length);
    out.write(bytes);
  }

  static String readText(DataInput in) throws IOException {
    final int length = in.readInt();
    if (length < 0 || length > LONGEST_TEXT) {
      throw new IOException("a text of " + length + " bytes");
    }
    final byte[] bytes = new byte[length];
    in.readFully(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  static void writeAddress(DataOutput out, IpAddress address) throws IOException {
    final byte[] bytes = address.toBytes();
    out.writeByte(bytes.length);
    out.write(bytes);
  }

  static IpAddress readAddress(DataInput in) throws IOException {
    final int length = in.readUnsignedByte();
    if (length != IPV4_BYTES && length != IPV6_BYTES) {
      throw new IOException("an address of " + length + " bytes");
    }
    final byte[] bytes = new byte[length];
    in.readFully(bytes);
    return IpAddress.of(bytes);
  }

  static void writeFlow(DataOutput out, RedirectedFlow flow) throws IOException {
    out.writeByte(flow.protocol());
    writeAddress(out, flow.client());
    out.writeShort(flow.clientPort());
    out.writeInt(flow.clientIdentity());
    out.writeInt(flow.clientEndpoint());
    writeAddress(out, flow.server());
    out.writeShort(flow.serverPort());
    out.writeInt(flow.serverIdentity());
    out.writeInt(flow.serverEndpoint());
  }

  static RedirectedFlow readFlow(DataInput in) throws IOException {
    return new RedirectedFlow(
        in.readUnsignedByte(),
        readAddress(in),
        in.readUnsignedShort(),
        in.readInt(),
        in.readInt(),
        readAddress(in),
        in.readUnsignedShort(),
        in.readInt(),
        in.readInt());
  }

  static <E extends Enum<E>> void writeEnum(DataOutput out, E value) throws IOException {
    out.writeByte(value.ordinal());
  }

  static <E> E readEnum(DataInput in, E[] values) throws IOException {
    final int ordinal = in.readUnsignedByte();
    if (ordinal >= values.length) {
      throw new IOException("an enum constant of number " + ordinal);
    }
    return values[ordinal];
  }
}
