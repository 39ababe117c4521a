package agent.maps.btf;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Writes raw BTF type by type, independently of the reader. */
public final class BtfBuilder {
  private static final int KIND_FLAG = 1 << 31;

  private final ByteArrayOutputStream strings = new ByteArrayOutputStream();
  private final ByteBuffer types;
  private final ByteOrder order;
  private int lastId;

  public BtfBuilder() {
    this(ByteOrder.LITTLE_ENDIAN);
  }

  BtfBuilder(ByteOrder order) {
    this.order = order;
    types = ByteBuffer.allocate(1 << 16).order(order);
    strings.write(0);
  }

  private int string(String text) {
    if (text.isEmpty()) {
      return 0;
    }
    final int offset = strings.size();
    strings.writeBytes(text.getBytes(StandardCharsets.UTF_8));
    strings.write(0);
    return offset;
  }

  /**
   * Writes one type; the values follow the three common words. A String is replaced by its offset.
   */
  public int type(
      int kind, boolean flag, int length, String name, int sizeOrType, Object... values) {
    types.putInt(string(name));
    types.putInt(kind << 24 | length | (flag ? KIND_FLAG : 0));
    types.putInt(sizeOrType);
    for (final Object value : values) {
      types.putInt(value instanceof final String text ? string(text) : (Integer) value);
    }
    return ++lastId;
  }

  public int integer(String name, int size) {
    return type(1, false, 0, name, size, size * 8);
  }

  public int typedef(String name, int type) {
    return type(8, false, 0, name, type);
  }

  public int array(int element, int count) {
    return type(3, false, 0, "", 0, element, element, count);
  }

  public byte[] build() {
    final byte[] text = strings.toByteArray();
    final ByteBuffer raw = ByteBuffer.allocate(24 + types.position() + text.length).order(order);
    raw.putShort((short) 0xeb9f).put((byte) 1).put((byte) 0).putInt(24);
    raw.putInt(0).putInt(types.position()).putInt(types.position()).putInt(text.length);
    raw.put(types.array(), 0, types.position()).put(text);
    return raw.array();
  }

  public Btf btf() {
    return Btf.parse(build());
  }
}
