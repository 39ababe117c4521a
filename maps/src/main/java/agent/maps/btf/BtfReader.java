package agent.maps.btf;

import agent.maps.btf.BtfType.Array;
import agent.maps.btf.BtfType.Composite;
import agent.maps.btf.BtfType.Constant;
import agent.maps.btf.BtfType.DataSection;
import agent.maps.btf.BtfType.DeclarationTag;
import agent.maps.btf.BtfType.Enumeration;
import agent.maps.btf.BtfType.FloatingPoint;
import agent.maps.btf.BtfType.Forward;
import agent.maps.btf.BtfType.Function;
import agent.maps.btf.BtfType.FunctionPrototype;
import agent.maps.btf.BtfType.Int;
import agent.maps.btf.BtfType.Member;
import agent.maps.btf.BtfType.Parameter;
import agent.maps.btf.BtfType.Ptr;
import agent.maps.btf.BtfType.Qualifier;
import agent.maps.btf.BtfType.Slot;
import agent.maps.btf.BtfType.TypeTag;
import agent.maps.btf.BtfType.Typedef;
import agent.maps.btf.BtfType.Variable;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** Decodes raw BTF, version 1 (include/uapi/linux/btf.h). */
final class BtfReader {
  private static final int MAGIC = 0xeb9f;
  private static final int VERSION = 1;
  private static final int HEADER_LENGTH = 24;
  private static final int BITS_MASK = 0xff;
  private static final int SIGNED = 1 << 24;

  private final ByteBuffer data;
  private ByteBuffer types;
  private int stringsStart;
  private int stringsEnd;

  BtfReader(byte[] raw) {
    data = ByteBuffer.wrap(raw);
  }

  Btf read() {
    try {
      readHeader();
      final List<BtfType> read = new ArrayList<>();
      read.add(new BtfType.Void());
      while (types.hasRemaining()) {
        read.add(readType(read.size()));
      }
      return new Btf(read);
    } catch (BufferUnderflowException | IndexOutOfBoundsException e) {
      final BtfException truncated =
          new BtfException("BTF: truncated, " + data.capacity() + " bytes");
      truncated.initCause(e);
      throw truncated;
    }
  }

  private void readHeader() {
    data.order(ByteOrder.LITTLE_ENDIAN);
    if ((data.getShort(0) & 0xffff) != MAGIC) {
      data.order(ByteOrder.BIG_ENDIAN);
    }
    if ((data.getShort(0) & 0xffff) != MAGIC) {
      throw new BtfException(
          "BTF: bad magic, the data starts with " + Integer.toHexString(data.getInt(0)));
    }
    if (data.get(2) != VERSION) {
      throw new BtfException("BTF: version " + data.get(2) + " instead of " + VERSION);
    }
    final int headerLength = data.getInt(4);
    if (headerLength < HEADER_LENGTH) {
      throw new BtfException("BTF: header of " + headerLength + " bytes is too short");
    }
    types = data.slice(headerLength + data.getInt(8), data.getInt(12)).order(data.order());
    stringsStart = headerLength + data.getInt(16);
    stringsEnd = stringsStart + data.getInt(20);
    if (stringsStart < 0 || stringsEnd < stringsStart || stringsEnd > data.capacity()) {
      throw new BtfException("BTF: strings end at " + stringsEnd + " of " + data.capacity());
    }
  }

  private String string(int offset) {
    int end = stringsStart + offset;
    if (offset < 0 || end >= stringsEnd) {
      throw new BtfException("BTF: no string at " + offset);
    }
    final int start = end;
    while (end < stringsEnd && data.get(end) != 0) {
      end++;
    }
    return new String(data.array(), start, end - start, StandardCharsets.UTF_8);
  }

  private BtfType readType(int id) {
    final String name = string(types.getInt());
    final int details = types.getInt();
    final int length = details & 0xffff;
    final int kind = details >>> 24 & 0x1f;
    final boolean flag = details < 0;
    final int sizeOrType = types.getInt();
    return switch (kind) {
      case 1 -> {
        final int encoding = types.getInt();
        yield new Int(name, sizeOrType, encoding & BITS_MASK, (encoding & SIGNED) != 0);
      }
      case 2 -> new Ptr(sizeOrType);
      case 3 -> new Array(types.getInt(), types.getInt(), types.getInt());
      case 4, 5 -> new Composite(name, kind == 5, sizeOrType, list(length, () -> member(flag)));
      case 6 -> new Enumeration(name, sizeOrType, flag, list(length, () -> constant(flag)));
      case 7 -> new Forward(name, flag);
      case 8 -> new Typedef(name, sizeOrType);
      case 9, 10, 11 -> new Qualifier(sizeOrType);
      case 12 -> new Function(name, sizeOrType, length);
      case 13 ->
          new FunctionPrototype(
              sizeOrType,
              list(length, () -> new Parameter(string(types.getInt()), types.getInt())));
      case 14 -> new Variable(name, sizeOrType, types.getInt());
      case 15 ->
          new DataSection(
              name,
              sizeOrType,
              list(length, () -> new Slot(types.getInt(), types.getInt(), types.getInt())));
      case 16 -> new FloatingPoint(name, sizeOrType);
      case 17 -> new DeclarationTag(name, sizeOrType, types.getInt());
      case 18 -> new TypeTag(name, sizeOrType);
      case 19 -> new Enumeration(name, sizeOrType, flag, list(length, this::wideConstant));
      default -> throw new BtfException("BTF: type " + id + " is of unknown kind " + kind);
    };
  }

  private static <T> List<T> list(int length, Supplier<T> element) {
    final List<T> elements = new ArrayList<>(length);
    for (int i = 0; i < length; i++) {
      elements.add(element.get());
    }
    return elements;
  }

  private Member member(boolean bitFields) {
    final String name = string(types.getInt());
    final int type = types.getInt();
    final int offset = types.getInt();
    return bitFields
        ? new Member(name, type, offset & 0xffffff, offset >>> 24)
        : new Member(name, type, offset, 0);
  }

  private Constant constant(boolean signed) {
    final String name = string(types.getInt());
    final int value = types.getInt();
    return new Constant(name, signed ? value : Integer.toUnsignedLong(value));
  }

  private Constant wideConstant() {
    final String name = string(types.getInt());
    final long low = Integer.toUnsignedLong(types.getInt());
    return new Constant(name, (long) types.getInt() << 32 | low);
  }
}
